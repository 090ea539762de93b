import { z } from 'zod';
import { visibleText } from '../../accounts/fields.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import { amountField, amountOrRefuse } from '../../kernel/http/amount-field.ts';
import { defineRoute, ok, type Route } from '../../kernel/http/define-route.ts';
import { page, pageQuery, toPage } from '../../kernel/http/paging.ts';
import { isVisible } from '../../kernel/text/visible-text.ts';
import type { Once } from '../../ledger/idempotency.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { ledgerRefusals } from '../../ledger/refusals.ts';
import { describeSale, exampleSale, saleRecord } from './answer.ts';
import { saleErrors } from './errors.ts';
import { fulfilOrder } from './fulfil-order.ts';
import { toOrder } from './order.ts';
import { listOrders } from './order-routes.ts';
import { refundOrder } from './refund-order.ts';
import { findSale } from './sale.ts';

export interface SaleParts {
  readonly db: Queryable;
  readonly once: Once;
  readonly ledger: Ledger;
}

const params = z.strictObject({ orderId: z.string().max(64) });
const examples = { params: { orderId: exampleSale.orderId } };
const facts = { tag: 'Selling', auth: 'key' } as const;

export function saleRoutes(parts: SaleParts): Route[] {
  return [listRoute(parts.db), findRoute(parts.db), fulfilRoute(parts), refundRoute(parts)];
}

function listRoute(db: Queryable): Route {
  return defineRoute(
    {
      ...facts,
      id: 'listSales',
      method: 'GET',
      path: '/shopping/sales',
      summary: 'What your shops have sold',
      description: 'Orders that your shops have taken, of all domains that are yours.',
      scope: 'read',
      query: pageQuery.extend({ status: z.enum(['completed', 'fulfilled', 'refunded']).optional() }),
      returns: {
        200: {
          description: 'Newest first',
          schema: page('sales', saleRecord),
          example: { sales: [exampleSale], nextCursor: null },
        },
      },
    },
    async ({ caller, query }) => {
      const rows = await listOrders(db, { seller: caller.accountId, ...query });
      const { items, nextCursor } = toPage(rows, query.limit, (row) => row.id);
      return ok({ sales: items.map((row) => describeSale(toOrder(row))), nextCursor });
    },
  );
}

function findRoute(db: Queryable): Route {
  return defineRoute(
    {
      ...facts,
      id: 'getSale',
      method: 'GET',
      path: '/shopping/sales/:orderId',
      summary: 'One sale',
      scope: 'read',
      params,
      examples,
      returns: { 200: { description: 'The sale', schema: saleRecord, example: exampleSale } },
      errors: [saleErrors.sale_not_found],
    },
    async ({ caller, params: { orderId } }) => ok(describeSale(await findSale(db, caller.accountId, orderId))),
  );
}

function fulfilRoute({ db, once }: SaleParts): Route {
  return defineRoute(
    {
      ...facts,
      id: 'fulfilSale',
      method: 'POST',
      path: '/shopping/sales/:orderId/fulfil',
      summary: 'Say that it is on its way',
      description: 'The buyer is told by the event `order.fulfilled`, with the tracking link.',
      scope: 'manage',
      params,
      body: z
        .strictObject({
          trackingUrl: z
            .url({ protocol: /^https?$/, error: 'must be a link such as https://parcel.example/123' })
            .max(2_000)
            .refine(isVisible, 'must hold nothing that cannot be seen')
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

function refundRoute({ db, once, ledger }: SaleParts): Route {
  return defineRoute(
    {
      ...facts,
      id: 'refundSale',
      method: 'POST',
      path: '/shopping/sales/:orderId/refund',
      summary: 'Give the buyer money back',
      description:
        'All that is left of what was paid, or a part of it, from your balance and never more than was paid. Our fee stays with the buyer. Send an Idempotency-Key: after a lost connection the same request never refunds twice.',
      scope: 'pay',
      params,
      body: z
        .strictObject({
          amount: amountField
            .optional()
            .meta({ description: 'A number or decimal text. All that is left when left out.' }),
          reason: visibleText(200).optional().meta({ description: 'Shown to the buyer.' }),
        })
        .optional(),
      examples: { ...examples, body: { amount: 10, reason: 'It arrived chipped.' } },
      idempotent: true,
      returns: {
        200: {
          description: 'The buyer has it',
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
        ledgerRefusals.insufficient_balance,
        ledgerRefusals.account_frozen,
      ],
    },
    async ({ caller, params: { orderId }, body, idempotency }) => {
      const { asset } = await findSale(db, caller.accountId, orderId);
      const amount = body?.amount === undefined ? undefined : amountOrRefuse(asset, body.amount);
      return once({ caller, idempotency }, async (tx) =>
        ok(await refundOrder(tx, ledger, { orderId, caller, amount, reason: body?.reason })),
      );
    },
  );
}
