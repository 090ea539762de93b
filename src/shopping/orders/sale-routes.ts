import { z } from 'zod';
import { visibleText } from '../../accounts/fields.ts';
import type { Queryable, ReadDatabase } from '../../kernel/db/database.ts';
import { amountField, requireAmount } from '../../kernel/http/amount-field.ts';
import { defineRoute, ok, type Route } from '../../kernel/http/define-route.ts';
import { findRoute, idParameter } from '../../kernel/http/find-route.ts';
import { listRoute } from '../../kernel/http/list-route.ts';
import { askBefore } from '../../kernel/http/problem.ts';
import { isVisible } from '../../kernel/text/visible-text.ts';
import { balanceErrors } from '../../ledger/balance-errors.ts';
import type { RunOnce } from '../../ledger/idempotency.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Consent } from '../../policies/consent.ts';
import { consentErrors } from '../../policies/errors.ts';
import { saleErrors } from './errors.ts';
import { toOrder } from './order.ts';
import { listOrders } from './order-routes.ts';
import { describeSale, exampleSale, saleRecord } from './response.ts';
import { findSale, fulfilOrder, refundOrder } from './sale.ts';

export interface SaleParts {
  readonly db: Queryable;
  readonly readDb: ReadDatabase;
  readonly once: RunOnce;
  readonly ledger: Ledger;
  readonly consent: Consent;
}

const params = z.strictObject({ orderId: idParameter });
const examples = { params: { orderId: exampleSale.orderId } };
const facts = { tag: 'Selling', auth: 'key' } as const;

export function saleRoutes(parts: SaleParts): Route[] {
  return [historyRoute(parts.readDb), saleRoute(parts.db), fulfilRoute(parts), refundRoute(parts)];
}

function historyRoute(readDb: ReadDatabase): Route {
  return listRoute({
    id: 'listSales',
    path: '/shopping/sales',
    tag: facts.tag,
    summary: 'List the sales of your shops',
    description: 'Orders that your shops accepted, across all of your domains.',
    name: 'sales',
    item: saleRecord,
    example: exampleSale,
    filters: { status: z.enum(['completed', 'fulfilled', 'refunded']).optional() },
    rows: (query) => listOrders(readDb, { seller: query.accountId, ...query }),
    describe: (row) => describeSale(toOrder(row)),
  });
}

function saleRoute(db: Queryable): Route {
  return findRoute({
    id: 'getSale',
    path: '/shopping/sales/:orderId',
    tag: facts.tag,
    summary: 'Retrieve a sale',
    returns: 'The sale',
    final: ['fulfilled', 'refunded', 'failed'],
    item: saleRecord,
    example: exampleSale,
    notFound: saleErrors.sale_not_found,
    find: async (id, { accountId }) => describeSale(await findSale(db, accountId, id)),
  });
}

function fulfilRoute({ db, once }: SaleParts): Route {
  return defineRoute(
    {
      ...facts,
      id: 'fulfilSale',
      method: 'POST',
      path: '/shopping/sales/:orderId/fulfil',
      summary: 'Mark a sale as fulfilled',
      description: 'The buyer receives the event `order.fulfilled` with the tracking link.',
      scope: 'manage',
      params,
      body: z
        .strictObject({
          trackingUrl: z
            .url({ protocol: /^https?$/, error: 'must be a link such as https://parcel.example/123' })
            .max(2_000)
            .refine(isVisible, 'must not contain invisible characters')
            .optional(),
        })
        .optional(),
      examples: { ...examples, body: { trackingUrl: 'https://parcel.example/00340434161094' } },
      idempotent: true,
      returns: {
        200: { description: 'The sale', schema: saleRecord, example: { ...exampleSale, status: 'fulfilled' } },
      },
      errors: [saleErrors.sale_not_found, saleErrors.not_completed, saleErrors.already_fulfilled],
    },
    async ({ caller, params: { orderId }, body, idempotency }) => {
      await findSale(db, caller.accountId, orderId);
      return once({ caller, idempotency }, async (tx) =>
        ok(
          describeSale(await fulfilOrder(tx, { orderId, accountId: caller.accountId, trackingUrl: body?.trackingUrl })),
        ),
      );
    },
  );
}

function refundRoute({ db, once, ledger, consent }: SaleParts): Route {
  return defineRoute(
    {
      ...facts,
      id: 'refundSale',
      method: 'POST',
      path: '/shopping/sales/:orderId/refund',
      summary: 'Refund a sale',
      description:
        'Refunds all or part of the order amount from your balance, in total never more than was paid. The buyer’s fee is not refunded. Send an Idempotency-Key, so that a retry after a lost connection never refunds twice.',
      scope: 'pay',
      params,
      body: z
        .strictObject({
          amount: amountField
            .optional()
            .meta({ description: 'A number or decimal string. Defaults to the whole refundable amount.' }),
          reason: visibleText(200).optional().meta({ description: 'Shown to the buyer.' }),
        })
        .optional(),
      examples: { ...examples, body: { amount: 10, reason: 'It arrived chipped.' } },
      idempotent: true,
      returns: {
        200: {
          description: 'The refund is complete',
          schema: z.object({ refundId: z.string(), transferId: z.string(), amount: z.number(), sale: saleRecord }),
          example: {
            refundId: 'rfd_01kp3v2m8rfk2s6y0e6v9q4w1x',
            transferId: 'trf_01kp3v2m8rfk2s6y0e6v9q4w1x',
            amount: 10,
            sale: { ...exampleSale, refundedAmount: 10, refundable: 14 },
          },
        },
      },
      errors: [
        saleErrors.sale_not_found,
        saleErrors.not_completed,
        saleErrors.refund_too_large,
        balanceErrors.insufficient_balance,
        balanceErrors.account_frozen,
        consentErrors.key_frozen,
      ],
    },
    async ({ caller, params: { orderId }, body, idempotency }) => {
      const { asset } = await findSale(db, caller.accountId, orderId);
      const amount = body?.amount === undefined ? undefined : requireAmount(asset, body.amount);
      const consented = await askBefore(async () => consent.forOther(caller));
      return once({ caller, idempotency }, async (tx) => {
        const authority = consented();
        return ok(await refundOrder(tx, ledger, { orderId, caller, authority, amount, reason: body?.reason }));
      });
    },
  );
}
