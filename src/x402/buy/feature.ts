import type { Feature } from '../../kernel/feature.ts';
import { defineSettings, wholeNumber } from '../../kernel/settings.ts';
import { amountOf } from '../../money/amount.ts';
import type { Shopping } from '../../shopping/search/open-shopping.ts';
import { purchaseHandler } from './advance-purchase.ts';
import type { BuyParts } from './buy.ts';
import { purchaseEvents } from './events.ts';
import { fillFloatHandler, fillFloatSchedule } from './fill-float.ts';
import { forgetAnswersSchedule } from './forget-answers.ts';
import type { PurchaseParts, PurchaseSettings } from './parts.ts';
import { purchaseRoutes } from './routes.ts';
import { purchaseSaga } from './saga.ts';
import { purchasePicture } from './state-picture.ts';

/** Seconds. A job that asks a seller again has thirty for everything. */
const mostTimeout = 25;

interface PurchaseServing extends Omit<BuyParts, keyof PurchaseSettings | 'calls'> {
  readonly shops: Pick<Shopping, 'merchants'>;
}

export const purchases: Feature<{
  settings: PurchaseSettings;
  serving: PurchaseServing;
  working: Omit<PurchaseParts, keyof PurchaseSettings>;
}> = {
  name: 'purchases',
  sealed: [{ purpose: 'purchases', columns: [{ table: 'purchase_requests', key: ['purchase_id'], column: 'sealed' }] }],
  settings: defineSettings({
    variables: {
      NANO_PAY_TIMEOUT_SECONDS: wholeNumber(1, mostTimeout, 20),
      NANO_PAY_HOLD_SECONDS: wholeNumber(15, 3_600, 300),
      NANO_PAY_FLOAT: wholeNumber(1, 1_000_000, 1_000),
    },
    readme: [
      '| `NANO_PAY_TIMEOUT_SECONDS` | `20` | `POST /nano/pay`: how long a seller has for each of its two answers; at most 25 |',
      '| `NANO_PAY_HOLD_SECONDS` | `300` | how long a seller can take a payment at most, and so how long money can be held for one that does not |',
      '| `NANO_PAY_FLOAT` | `1000` | USDC that the treasury keeps in the wallet that pays sellers; one call cannot cost more |',
    ],
    harmless: ['NANO_PAY_TIMEOUT_SECONDS', 'NANO_PAY_HOLD_SECONDS', 'NANO_PAY_FLOAT'],
    read: ({ NANO_PAY_TIMEOUT_SECONDS, NANO_PAY_HOLD_SECONDS, NANO_PAY_FLOAT }) => ({
      timeoutMs: NANO_PAY_TIMEOUT_SECONDS * 1_000,
      mostSeconds: NANO_PAY_HOLD_SECONDS,
      float: amountOf('USDC', BigInt(NANO_PAY_FLOAT) * 1_000_000n),
    }),
  }),
  chapters: [
    {
      name: 'Paying for calls',
      description:
        'Call third-party paid endpoints (x402) and pay from your balance, without a wallet, signatures or gas of your own.',
      states: purchasePicture,
    },
  ],
  events: purchaseEvents,
  sagas: [{ saga: purchaseSaga, handler: (parts, settings) => purchaseHandler({ ...parts, ...settings }) }],
  routes: (parts, settings) => {
    const { db, outgoing, shops, publicUrl } = parts;
    const calls = { db, outgoing, merchants: shops.merchants, publicUrl };
    return purchaseRoutes({ ...parts, ...settings, calls });
  },
  jobs: (parts, settings) => [fillFloatHandler({ ...parts, ...settings })],
  schedules: (parts, settings) => [fillFloatSchedule({ ...parts, ...settings }), forgetAnswersSchedule(parts.db)],
};
