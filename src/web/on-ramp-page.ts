import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Amount } from '../money/amount.ts';
import { type ChainId, chains } from '../money/catalogue.ts';
import { cardCurrency } from '../payments/funding/on-ramp.ts';
import { formPolicy } from './content-policy.ts';
import { type Html, html } from './html.ts';
import { layout, type PageContext } from './layout.ts';
import { amountText } from './words.ts';

/** A purchase that a person has begun there. */
interface TestPurchase {
  readonly amount: Amount;
  readonly chain: ChainId;
  readonly address: string;
}

/** Plays the card company, where no card is real. Only a sandbox has one. */
export interface TestCardCompany {
  /** Undefined for a session that is unknown or over. */
  find(session: string): TestPurchase | undefined;
  /** Ends the purchase as the person wishes. False when there is no such session, or no such outcome. */
  play(session: string, outcome: string): Promise<boolean>;
}

export interface OnRampPageParts {
  readonly context: () => PageContext;
  readonly onRamp: TestCardCompany;
}

/** The sandbox's card company: the first button pays, the others refuse as real ones do. */
export function addOnRampPage(app: FastifyInstance, { context, onRamp }: OnRampPageParts): void {
  app.register(async (scope) => {
    // A form without fields is sent with an empty body, of a type that the API does not take.
    scope.addContentTypeParser('*', (_request, payload, done) => {
      payload.resume();
      done(null);
    });

    scope.get<{ Params: { session: string } }>('/sandbox/on-ramp/:session', async ({ params }, reply) => {
      const session = onRamp.find(params.session);
      return session === undefined
        ? send(reply.code(404), missingPage(context()))
        : send(reply, cardPage(session, `${context().base}/sandbox/on-ramp/${params.session}`, context()));
    });

    scope.post<{ Params: { session: string; outcome: string } }>(
      '/sandbox/on-ramp/:session/:outcome',
      async ({ params }, reply) => {
        const isPlayed = await onRamp.play(params.session, params.outcome);
        if (!isPlayed) return send(reply.code(404), missingPage(context()));
        return reply.redirect(`${context().base}/buy/return`, 303);
      },
    );
  });
}

function send(reply: FastifyReply, page: Html): FastifyReply {
  return reply
    .headers({
      'Content-Security-Policy': formPolicy,
      'Cache-Control': 'no-store',
      'X-Robots-Tag': 'noindex, nofollow',
    })
    .type('text/html; charset=utf-8')
    .send(page.toString());
}

function cardPage({ amount, chain, address }: TestPurchase, action: string, context: PageContext): Html {
  const price = `${amountText(amount)} ${cardCurrency(amount)}`;
  return frame(
    'Test card company',
    html`
<section class="checkout">
<p class="status moving">Nothing here is real</p>
<h1>Test card company</h1>
<p class="lead">It stands in for the company that would take your card. No card is asked for and nothing is charged.</p>
<dl>
<div><dt>You pay</dt><dd><strong>${price}</strong></dd></div>
<div><dt>Card</dt><dd><code>4242 4242 4242 4242</code></dd></div>
<div><dt>You buy</dt><dd><strong>${amountText(amount)} ${amount.asset}</strong> on ${chains[chain].name}</dd></div>
<div><dt>Sent to</dt><dd><code>${address}</code></dd></div>
</dl>
<form method="post" action="${action}/pay"><button class="button">Pay ${price}</button></form>
<h2>Or let it be refused</h2>
<div class="refusals">
${refusals.map(([outcome, label]) => html`<form method="post" action="${action}/${outcome}"><button class="quiet">${label}</button></form>`)}
</div>
</section>`,
    context,
  );
}

const refusals: readonly (readonly [outcome: string, label: string])[] = [
  ['decline', 'Card declined'],
  ['no-money', 'Not enough money'],
  ['not-verified', 'Bank did not verify'],
];

function missingPage(context: PageContext): Html {
  return frame(
    'No such purchase',
    html`
<section class="missing"><h1>There is no such purchase</h1>
<p class="lead">It may have been left open for too long. Go back to the link that you came from, and begin again.</p></section>`,
    context,
  );
}

function frame(title: string, content: Html, context: PageContext): Html {
  const body = html`
<main id="main">${content}
</main>`;
  const styles = ['invoice.css', 'buy.css'];
  return layout({ title, description: title, name: 'buy', styles, unlisted: true, plain: true, body }, context);
}
