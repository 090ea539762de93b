import { chains } from '../../money/catalogue.ts';
import { amountText, dateTimeText, timeOfDay } from '../format.ts';
import { type Html, html } from '../html.ts';
import { layout, type PageContext, sayingPage } from '../layout.ts';
import { paymentOptions } from './payment-options.ts';
import { announcement, type BuyView, phaseOf, progress, remarks } from './progress.ts';

/** The page of a funding link. `eventsHref` is the event stream that updates it. */
export function buyPage(view: BuyView, eventsHref: string): Html {
  const { link, context } = view;
  return layout(
    {
      ...frame,
      unlisted: true,
      title: titleOf(view),
      description: `Add money to the account of ${link.name} (${link.handle}).`,
      body: html`
<main id="main" class="buy" data-events="${eventsHref}" data-phase="${phaseOf(link)}">
${buyMain(view)}
</main>
<p class="announced" role="status">${announcement(view)}</p>`,
    },
    context,
  );
}

export function titleOf({ link }: BuyView): string {
  const what = `${amountText(link.completion?.amount ?? link.amount)} ${link.amount.asset}`;
  if (link.status === 'completed') return `${what} was added`;
  return link.status === 'expired' ? 'This link has expired' : `Add ${what} for ${link.name}`;
}

/** The content of the page; the stream sends all of it again when the phase changes. */
export function buyMain(view: BuyView): Html {
  const { link } = view;
  switch (link.status) {
    case 'completed':
      return completed(view);
    case 'expired':
      return expired(view);
    default:
      return html`<article class="card">
<div class="asked">
<h1><span class="who">Add money for <bdi>${link.name}</bdi></span> <span class="amount">${amountText(link.amount)} <span class="unit">${link.amount.asset}</span></span></h1>
<p class="whom">The money goes to account <code>${link.handle}</code>.${phaseOf(link) === 'paying' && until(link.expiresAt)}</p>
</div>
<div class="progress">${progress(view)}</div>
</article>
<noscript><p class="remark">Without JavaScript this page does not update itself. After you have paid, <a href="">reload it</a> to see whether the payment has arrived.</p></noscript>
${phaseOf(link) === 'paying' ? html`${paymentOptions(view)}${caution(link.handle)}` : nothingLeft}`;
  }
}

const nothingLeft = html`<section class="next"><h2>Nothing left to do</h2><p>Your payment is on its way and will be added to the balance, even if you close this page. Please do not pay again.</p></section>`;

function caution(handle: string): Html {
  return html`
<p class="note">Pay only if you expected this link. Anyone can choose any name; the handle <code>${handle}</code> identifies the account.</p>`;
}

/** Sends the seconds left instead of a time, because the clock of the phone may be wrong. */
function until(end: Date): Html {
  const left = Math.max(0, Math.round((end.getTime() - Date.now()) / 1_000));
  return html` This link works until ${timeOfDay(end)}<span class="left" data-left="${left}"></span>.`;
}

function completed({ link, context: { mode } }: BuyView): Html {
  const { completion, amount, name, handle, chain } = link;
  if (completion === undefined) throw new Error(`${link.id} is completed by nothing`);
  const more = completion.amount.atomic !== amount.atomic;
  return html`<section class="ending paid">
<p class="status paid">Paid</p>
<h1>${amountText(completion.amount)} ${amount.asset} was added</h1>
<p class="lead">It was added to the balance of <bdi>${name}</bdi> (<code>${handle}</code>) on ${dateTimeText(completion.at)}.${more && ` This link had asked for ${amountText(amount)}.`}</p>
${remarks(link).map((remark) => html`<p class="remark">${remark}</p>`)}
<h2>Nothing left to do</h2>
<p>You can close this page. To add more money, ask for a new link.</p>
${mode === 'live' && html`<p class="note"><a href="${chains[chain].explorer}/tx/${completion.txHash}" rel="noopener noreferrer nofollow" target="_blank">View the payment on ${chains[chain].name}</a></p>`}
</section>`;
}

function expired({ link }: BuyView): Html {
  const said = remarks(link);
  return html`<section class="ending">
<p class="status cancelled">Expired</p>
<h1>This link has expired</h1>
<p class="lead">It was for ${amountText(link.amount)} ${link.amount.asset} to <bdi>${link.name}</bdi> (<code>${link.handle}</code>), and worked until ${dateTimeText(link.expiresAt)}.</p>
${said.map((remark) => html`<p class="remark">${remark}</p>`)}
<h2>What to do now</h2>
<p>If you have not paid yet, ask for a new link. If you have already paid, do nothing: the payment is added to the balance when it arrives, even if it is late.</p>
</section>`;
}

export function missingPage(context: PageContext): Html {
  const text = 'The link may be incomplete. Ask the sender for the full link or for a new one.';
  return sayingPage({ ...frame, heading: 'Link not found', text }, context);
}

/** For a browser that returns from the card company without the cookie that names the link. */
export function returnPage(context: PageContext): Html {
  const text = 'Your payment is added to the balance automatically. To follow it, open the funding link again.';
  return sayingPage({ ...frame, title: 'Back from the card company', heading: 'You are back', text }, context);
}

export function errorPage(context: PageContext, back: string | undefined): Html {
  const text = html`The service could not do this just now. Nothing was charged, and a payment that you have already made is safe. ${back === undefined ? html`<a href="">Try again</a> in a moment.` : html`<a href="${back}">Go back</a> and try again in a moment, or pay the other way.`}`;
  return sayingPage({ ...frame, heading: 'Something went wrong', text }, context);
}

const frame = { name: 'buy', styles: ['invoice.css', 'buy.css'], scripts: ['buy.js'], plain: true } as const;
