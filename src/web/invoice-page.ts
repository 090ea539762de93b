import type { FastifyInstance } from 'fastify';
import type { InvoicePageView } from '../payments/invoices/invoice.ts';
import { codeBlock, shellCode } from './code.ts';
import { amountText, dateTimeText } from './format.ts';
import { type Html, html } from './html.ts';
import { layout, type PageContext, sayingPage, sendPrivate } from './layout.ts';
import { qrCode } from './qr-code.ts';

export interface InvoicePageParts {
  readonly context: () => PageContext;
  /** A function, because the public URL is known only once the server listens. */
  readonly publicUrl: () => string;
  readonly find: (token: string) => Promise<InvoicePageView | undefined>;
}

/** Needs no sign-in: the token in the address is the permission. */
export function addInvoicePage(app: FastifyInstance, { context, publicUrl, find }: InvoicePageParts): void {
  app.get<{ Params: { token: string } }>('/invoice/:token', async ({ params: { token } }, reply) => {
    const invoice = await find(token);
    if (invoice === undefined) return sendPrivate(reply.code(404), sayingPage(missing, context()));
    const pageUrl = `${publicUrl()}/invoice/${token}`;
    return sendPrivate(reply, invoicePage(invoice, { ...context(), publicUrl: publicUrl(), pageUrl }));
  });
}

const frame = { name: 'invoice', styles: ['invoice.css'] } as const;

const missing = {
  ...frame,
  heading: 'Invoice not found',
  description: 'There is no invoice at this address.',
  text: 'The link may be incomplete. Ask the sender for the full link.',
};

interface InvoicePageContext extends PageContext {
  readonly publicUrl: string;
  readonly pageUrl: string;
}

function invoicePage(invoice: InvoicePageView, context: InvoicePageContext): Html {
  const { amount, fromName, fromHandle } = invoice;
  return layout(
    {
      title: `${amountText(amount)} ${amount.asset} for ${fromName}`,
      description: `An invoice from ${fromName} (${fromHandle}).`,
      ...frame,
      unlisted: true,
      body: html`
<main id="main">
<article class="card">
<div class="asked">
<p class="status ${stateOf(invoice)}">${stateWords[stateOf(invoice)]}</p>
<h1><span class="who"><bdi>${fromName}</bdi> ${askWords[invoice.status]}</span> <span class="amount${amountText(amount).length > roomyLength && ' long'}">${amountText(amount)} <span class="unit">${amount.asset}</span></span></h1>
<p class="what" dir="auto">${invoice.description}</p>
<dl>
<div><dt>From</dt><dd><bdi>${fromName}</bdi> <code>${fromHandle}</code></dd></div>
${invoice.dueAt !== null && html`<div><dt>Due</dt><dd>${dateTimeText(invoice.dueAt)}</dd></div>`}
<div><dt>Issued</dt><dd>${dateTimeText(invoice.createdAt)}</dd></div>
${invoice.paidAt !== null && html`<div><dt>Paid</dt><dd>${dateTimeText(invoice.paidAt)}</dd></div>`}
${invoice.cancelledAt !== null && html`<div><dt>Cancelled</dt><dd>${dateTimeText(invoice.cancelledAt)}</dd></div>`}
<div><dt>Invoice</dt><dd><code>${invoice.id}</code></dd></div>
</dl>
</div>
<div class="code-to-scan">${qrCode(context.pageUrl, 'QR code with the address of this page')}<p>Scan to open this page on another device</p></div>
</article>
${whatNow(invoice, context)}
</main>`,
    },
    context,
  );
}

/** Longer amounts use a smaller font, to stay on one line. */
const roomyLength = 12;

type PageState = InvoicePageView['status'] | 'overdue';

function stateOf({ status, overdue }: InvoicePageView): PageState {
  return overdue ? 'overdue' : status;
}

const stateWords: Readonly<Record<PageState, string>> = {
  pending: 'Waiting for payment',
  overdue: 'Overdue',
  paid: 'Paid',
  cancelled: 'Cancelled',
};

const askWords: Readonly<Record<InvoicePageView['status'], string>> = {
  pending: 'asks for',
  paid: 'was paid',
  cancelled: 'asked for',
};

function whatNow({ status, id }: InvoicePageView, { base, publicUrl }: InvoicePageContext): Html {
  if (status === 'paid') return html`<section><h2>Nothing left to do</h2><p>This invoice is paid.</p></section>`;
  if (status === 'cancelled') {
    return html`<section><h2>Nothing to pay</h2><p>The sender has cancelled this invoice. It can no longer be paid.</p></section>`;
  }
  const command = [
    `curl -X POST ${publicUrl}/api/invoices/${id}/pay`,
    '-H "Authorization: Bearer $PAYWRIGHT_API_KEY"',
    `-H "Idempotency-Key: ${id}"`,
  ].join(' \\\n  ');
  return html`<section>
<h2>Pay this invoice</h2>
<p>The account that this invoice is addressed to pays it from its balance with this request. Sending it twice pays once.</p>
${codeBlock('Terminal', shellCode(command))}
<p class="note">No account yet? <a href="${base}/docs#registerAgent">Register</a> with the email address that the invoice was sent to, and verify it. Anyone can choose any name; the handle identifies the account.</p>
</section>`;
}
