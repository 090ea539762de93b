import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Amount } from '../money/amount.ts';
import { type ChainId, chains } from '../money/catalogue.ts';
import { cardCurrency } from '../payments/funding/on-ramp.ts';
import { formPolicy } from './content-policy.ts';
import { amountText } from './format.ts';
import { type Html, html } from './html.ts';
import { layout, type PageContext, sayingPage, sendPrivate } from './layout.ts';

interface TestPurchase {
  readonly amount: Amount;
  readonly chain: ChainId;
  readonly address: string;
}

/** The sandbox's stand-in for a card company. */
export interface TestCardCompany {
  /** Undefined for a session that is unknown or has ended. */
  find(session: string): TestPurchase | undefined;
  /** Ends the purchase with the chosen outcome. False if the session or the outcome is unknown. */
  play(session: string, outcome: string): Promise<boolean>;
}

export function addOnRampPage(app: FastifyInstance, context: () => PageContext, onRamp: TestCardCompany): void {
  const notFound = (reply: FastifyReply) =>
    sendPrivate(reply.code(404), sayingPage({ ...frame, ...missing }, context()), formPolicy());

  app.register(async (scope) => {
    // Browsers send a form without fields as an empty body of a content type that the API refuses.
    scope.addContentTypeParser('*', (_request, payload, done) => {
      payload.resume();
      done(null);
    });

    scope.get<{ Params: { session: string } }>('/sandbox/on-ramp/:session', async ({ params }, reply) => {
      const session = onRamp.find(params.session);
      if (session === undefined) return notFound(reply);
      const page = cardPage(session, `${context().base}/sandbox/on-ramp/${params.session}`, context());
      return sendPrivate(reply, page, formPolicy());
    });

    scope.post<{ Params: { session: string; outcome: string } }>(
      '/sandbox/on-ramp/:session/:outcome',
      async ({ params }, reply) => {
        const isPlayed = await onRamp.play(params.session, params.outcome);
        if (!isPlayed) return notFound(reply);
        return reply.redirect(`${context().base}/buy/return`, 303);
      },
    );
  });
}

const frame = { name: 'buy', styles: ['invoice.css', 'buy.css'], plain: true } as const;

const missing = {
  heading: 'Purchase not found',
  text: 'It may have expired. Go back to the funding link and start again.',
};

function cardPage({ amount, chain, address }: TestPurchase, action: string, context: PageContext): Html {
  const price = `${amountText(amount)} ${cardCurrency(amount)}`;
  const title = 'Test card company';
  const body = html`
<main id="main">
<section class="checkout">
<p class="status moving">Test only</p>
<h1>Test card company</h1>
<p class="lead">This page stands in for a real card company. It asks for no card and charges nothing.</p>
<dl>
<div><dt>You pay</dt><dd><strong>${price}</strong></dd></div>
<div><dt>Card</dt><dd><code>4242 4242 4242 4242</code></dd></div>
<div><dt>You buy</dt><dd><strong>${amountText(amount)} ${amount.asset}</strong> on ${chains[chain].name}</dd></div>
<div><dt>Sent to</dt><dd><code>${address}</code></dd></div>
</dl>
<form method="post" action="${action}/pay"><button class="button">Pay ${price}</button></form>
<h2>Or simulate a refusal</h2>
<div class="refusals">
${refusals.map(([outcome, label]) => html`<form method="post" action="${action}/${outcome}"><button class="quiet">${label}</button></form>`)}
</div>
</section>
</main>`;
  return layout({ ...frame, title, description: title, unlisted: true, body }, context);
}

const refusals: readonly (readonly [outcome: string, label: string])[] = [
  ['decline', 'Card declined'],
  ['no-money', 'Insufficient funds'],
  ['not-verified', 'Bank verification failed'],
];
