import type { Feature } from '../../kernel/feature.ts';
import { pictureOf } from '../../kernel/sagas/public-status.ts';
import { defineSettings, wholeNumber } from '../../kernel/settings.ts';
import type { EventType } from '../../ledger/event-types.ts';
import { amountOf } from '../../money/amount.ts';
import type { Shopping } from '../../shopping/search/open-shopping.ts';
import { purchaseHandler } from './advance-purchase.ts';
import { fillFloatHandler, fillFloatSchedule } from './fill-float.ts';
import { forgetAnswersSchedule } from './keep-answer.ts';
import type { PurchaseParts, PurchaseSettings } from './purchase.ts';
import { type PurchaseRouteParts, purchaseRoutes } from './routes.ts';
import { purchaseSaga } from './saga.ts';

const purchaseEvents: readonly EventType[] = [{ name: 'purchase.paid' }, { name: 'purchase.returned' }];

/** Each of a seller's two answers. Both must fit into the request, and a job that asks again has thirty seconds in all. */
const timeoutMs = 20_000;

/** A seller can take a payment for five minutes, so money is held no longer than that for one that does not. */
const holdSeconds = 300;

interface PurchaseServing extends Omit<PurchaseRouteParts, keyof PurchaseSettings | 'calls'> {
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
    variables: { NANO_PAY_FLOAT: wholeNumber(1, 1_000_000, 1_000) },
    docs: {
      room: 'Paid calls (x402)',
      rows: {
        NANO_PAY_FLOAT: {
          usual: '`1000`',
          does: 'The USDC that the treasury keeps in the wallet that pays sellers. One call cannot cost more.',
          change: 'When single calls cost more, or to keep less in that wallet.',
        },
      },
    },
    harmless: ['NANO_PAY_FLOAT'],
    read: ({ NANO_PAY_FLOAT }) => ({
      timeoutMs,
      mostSeconds: holdSeconds,
      float: amountOf('USDC', BigInt(NANO_PAY_FLOAT) * 1_000_000n),
    }),
  }),
  chapters: [
    {
      name: 'Paying for calls',
      description:
        'Call third-party paid endpoints (x402) and pay from your balance, without a wallet, signatures or gas of your own.',
      states: pictureOf(purchaseSaga, 'States of a payment'),
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
