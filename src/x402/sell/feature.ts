import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Feature } from '../../kernel/feature.ts';
import { defineJob, handleJob } from '../../kernel/jobs/define-job.ts';
import type { Wakes } from '../../kernel/jobs/wakes.ts';
import type { Outgoing } from '../../kernel/outgoing/outgoing.ts';
import { defineSettings, url, wholeNumber } from '../../kernel/settings.ts';
import { amountFromText } from '../../money/parse-amount.ts';
import type { Shopping } from '../../shopping/search/open-shopping.ts';
import { type SettlingParts, settlementHandler } from './advance-settlement.ts';
import { createClaimer } from './claim-payments.ts';
import { addNanoCommands } from './commands.ts';
import { createOutsideFacilitator } from './facilitator.ts';
import { createPaymentReceiver, type PaymentReceiverParts } from './payment-receiver.ts';
import { describeShop, nanoRoutes } from './routes.ts';
import { settlementSaga } from './saga.ts';
import type { SellingParts } from './sale.ts';
import { createCallServer } from './serve-calls.ts';
import { createOverdueCheck, forgetAnswers, startSettling } from './settle-payments.ts';

type SameAsSelling = 'db' | 'ledger' | 'once' | 'consent' | 'screening' | 'clock' | 'checkpoint' | 'publicUrl';

interface NanoServing extends Pick<SellingParts, SameAsSelling>, Pick<PaymentReceiverParts, 'networks'> {
  readonly outgoing: Outgoing;
  readonly shops: Pick<Shopping, 'merchants'>;
}

interface NanoSettings {
  readonly settleSeconds: number;
  readonly mostCredit: bigint;
  readonly payerPerMinute: number;
  readonly facilitatorUrl: string | undefined;
}

const forgetJob = defineJob({ name: 'forget-nano-answers', payload: z.unknown(), maxAttempts: 1 });

const usdc = (fallback: string) =>
  z
    .string()
    .default(fallback)
    .transform((text, context) => {
      const parsed = amountFromText('USDC', text);
      if (parsed.ok) return parsed.amount.atomic as bigint;
      context.addIssue({ code: 'custom', message: parsed.message });
      return z.NEVER;
    });

export const nano: Feature<{
  settings: NanoSettings;
  serving: NanoServing;
  pages: PaymentReceiverParts & Pick<NanoServing, 'publicUrl'>;
  working: SettlingParts & Pick<NanoServing, 'checkpoint'> & { readonly wakes: Wakes };
}> = {
  name: 'nano',
  settings: defineSettings({
    variables: {
      NANO_CREDIT_PER_PAYER: usdc('1'),
      NANO_PAYER_PER_MINUTE: wholeNumber(0, 1_000_000, 600),
      X402_FACILITATOR_URL: url('http:', 'https:').optional(),
    },
    docs: {
      room: 'Paid calls (x402)',
      rows: {
        NANO_CREDIT_PER_PAYER: {
          usual: '`1`',
          does: 'The USDC that one wallet may be served before its payments are settled. Beyond it a payment settles before the call is served.',
          change: 'To risk less, or to serve busy payers faster.',
        },
        NANO_PAYER_PER_MINUTE: {
          usual: '`600`',
          does: 'Paid calls per minute of one wallet. 0 is unlimited, which live mode refuses.',
          change: 'When an honest payer calls more often.',
        },
        X402_FACILITATOR_URL: {
          usual: 'none: the service checks and settles payments itself',
          does: 'An x402 facilitator that checks and settles the payments for your calls.',
          change: 'When another company should settle for you.',
        },
      },
    },
    harmless: ['NANO_CREDIT_PER_PAYER', 'NANO_PAYER_PER_MINUTE'],
    read: (env, mode) => ({
      // A minute of payments shares the gas of one transaction. In the sandbox gas is free and a person waits.
      settleSeconds: mode === 'sandbox' ? 5 : 60,
      mostCredit: env.NANO_CREDIT_PER_PAYER,
      payerPerMinute: env.NANO_PAYER_PER_MINUTE,
      facilitatorUrl: env.X402_FACILITATOR_URL,
    }),
    refuseLive: (env) => [
      ...(env.NANO_PAYER_PER_MINUTE === 0 ? ['NANO_PAYER_PER_MINUTE is unsafe: 0 would be no limit at all'] : []),
      ...(env.X402_FACILITATOR_URL?.startsWith('http:') === true
        ? [
            'X402_FACILITATOR_URL is unsafe: it must begin with https://, or a listener could claim that everything is paid',
          ]
        : []),
    ],
  }),
  chapters: [{ name: 'Nano', description: 'Pay-per-call endpoints, paid with x402 or from a balance.' }],
  sagas: [{ saga: settlementSaga, handler: (parts) => settlementHandler(parts) }],
  commands: (program, { withDatabase, say }) => addNanoCommands(program, withDatabase, say),
  routes: (parts, settings) => nanoRoutes(openSelling(parts, settings)),
  pages: (app, parts) => addDiscoveryPage(app, { till: createPaymentReceiver(parts), publicUrl: parts.publicUrl }),
  schedules: ({ db }) => [{ at: '17 * * * *', handler: handleJob(forgetJob, () => forgetAnswers(db)) }],
  loops: ({ db, ledger, networks, logger, checkpoint, wakes }, { settleSeconds }) => [
    startSettling({ db, ledger, networks, logger, checkpoint, wakes, gatherMs: settleSeconds * 1_000 }),
  ],
};

/** A payment must stay valid for two settlement rounds, plus the time that the second one takes. */
const settlingSeconds = 30;

function openSelling(parts: NanoServing, settings: NanoSettings): SellingParts {
  const { db, outgoing, clock } = parts;
  const { settleSeconds, mostCredit, payerPerMinute, facilitatorUrl } = settings;
  return {
    ...parts,
    merchants: parts.shops.merchants,
    till: createPaymentReceiver(parts),
    claim: createClaimer(db),
    isOverdue: createOverdueCheck(db, clock, settleSeconds + settlingSeconds),
    serve: createCallServer(db, parts.ledger),
    facilitator: facilitatorUrl === undefined ? undefined : createOutsideFacilitator(facilitatorUrl, outgoing),
    rules: { mostCredit, payerPerMinute, leastSecondsLeft: BigInt(2 * settleSeconds + settlingSeconds) },
  };
}

/** The discovery document for x402 clients. CORS is open, as for the calls themselves. */
function addDiscoveryPage(app: FastifyInstance, parts: Pick<SellingParts, 'till' | 'publicUrl'>): void {
  app.get('/.well-known/x402', async (_request, reply) =>
    reply
      .header('access-control-allow-origin', '*')
      .type('application/json; charset=utf-8')
      .send(JSON.stringify(await describeShop(parts))),
  );
}
