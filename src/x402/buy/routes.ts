import { z } from 'zod';
import { limitErrors } from '../../custody/limits/errors.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import { defineRoute, ok, type Route } from '../../kernel/http/define-route.ts';
import { page, pageQuery, toPage } from '../../kernel/http/paging.ts';
import { ledgerRefusals } from '../../ledger/refusals.ts';
import { shoppingErrors } from '../../shopping/search/errors.ts';
import {
  describePurchase,
  exampleDetail,
  examplePaid,
  examplePurchase,
  findAnswer,
  payAnswer,
  purchaseDetail,
  purchaseRecord,
} from './answer.ts';
import { type BuyParts, buy } from './buy.ts';
import { purchaseErrors } from './errors.ts';
import { findPurchase, type PurchaseRow, selectPurchase, toPurchase } from './purchase.ts';
import { type PurchaseStatus, publicStatuses, statusesShownAs } from './saga.ts';
import { payBody, readMaximum, readRequest } from './seller-request.ts';

/** Other people's paid endpoints: pay for a call, and see what became of the money. */
export function purchaseRoutes(parts: BuyParts): Route[] {
  return [payRoute(parts), listRoute(parts.db), findRoute(parts.db)];
}

const tag = 'Paying for calls';

function payRoute(parts: BuyParts): Route {
  const { purchase_not_found: _, ...refusals } = purchaseErrors;
  return defineRoute(
    {
      id: 'payForCall',
      method: 'POST',
      path: '/nano/pay',
      tag,
      summary: 'Call somebody’s paid endpoint (x402), and pay from your balance',
      description:
        'The seller is asked for its price. If that is no more than maxAmount, it leaves your balance, and the seller is asked again with a payment in USDC on Polygon, in the version of x402 that it speaks. You get the seller’s answer as it came. What we sell ourselves (`/nano`) is charged at once. The price is held until the chain shows that the seller has taken it, or that it cannot any more, and then comes back: you pay exactly what has left. What you pay to sellers within 24 hours above 10 USDC costs 1.49 % besides, as a withdrawal does; maxAmount holds for both together. No redirect is followed. Your balance must cover maxAmount before anything is asked of the seller, and at most 120 answers within an hour may have cost nothing. Calls that get a server error or no answer are counted apart: at most 150 of a seller within ten minutes, and 1,200 of all within an hour. It counts in your daily limit (`/account/withdrawal-limits`), and while your allow-list is on, sellers outside are paid only at addresses on it. Send an Idempotency-Key: after a lost connection the same request never pays twice, and gets the same answer. The first answer is whole, up to 1 MiB. For the same request again it is kept for 48 hours: a KiB for each millionth of a USDC that it cost, up to 64 MiB on a day, and 16 KiB besides, up to 1 MiB on a day; `truncated` tells, and of headers beyond 2 KiB only the content type is kept.',
      auth: 'key',
      scope: 'pay',
      body: payBody,
      examples: { body: { url: examplePurchase.url, maxAmount: 0.05 } },
      idempotent: true,
      returns: { 200: { description: 'What the seller has answered', schema: payAnswer, example: examplePaid } },
      errors: [
        ...Object.values(refusals),
        limitErrors.daily_limit_reached,
        limitErrors.address_not_allowed,
        ledgerRefusals.insufficient_balance,
        ledgerRefusals.account_frozen,
        shoppingErrors.merchant_unreachable,
        shoppingErrors.merchant_too_slow,
        shoppingErrors.merchant_unsupported,
      ],
    },
    async ({ caller, ip, body, idempotency }) => {
      const request = readRequest(body);
      const { answer, replayed } = await buy(parts, { caller, ip, idempotency, request, maximum: readMaximum(body) });
      return { ...ok(answer), ...(replayed && { replayed }) };
    },
  );
}

function listRoute(db: Queryable): Route {
  return defineRoute(
    {
      id: 'listPurchases',
      method: 'GET',
      path: '/nano/purchases',
      tag,
      summary: 'What you have paid sellers for',
      auth: 'key',
      scope: 'read',
      query: pageQuery.extend({ status: z.enum(publicStatuses).optional() }),
      returns: {
        200: {
          description: 'Newest first',
          schema: page('purchases', purchaseRecord),
          example: { purchases: [examplePurchase], nextCursor: null },
        },
      },
    },
    async ({ caller, query }) => {
      const statuses = query.status && statusesShownAs(query.status);
      const rows = await listPurchases(db, { accountId: caller.accountId, ...query, statuses });
      const { items, nextCursor } = toPage(rows, query.limit, (row) => row.id);
      return ok({ purchases: items.map((row) => describePurchase(toPurchase(row))), nextCursor });
    },
  );
}

interface PurchaseQuery {
  readonly accountId: bigint;
  readonly cursor?: string | undefined;
  readonly statuses: readonly PurchaseStatus[] | undefined;
  readonly limit: number;
}

/** One more than the page holds. */
async function listPurchases(
  db: Queryable,
  { accountId, cursor, statuses, limit }: PurchaseQuery,
): Promise<PurchaseRow[]> {
  const { rows } = await db.query<PurchaseRow>(
    `${selectPurchase} WHERE account_id = $1 AND ($2::text IS NULL OR id < $2) AND ($3::text[] IS NULL OR status = ANY ($3))
      ORDER BY id DESC LIMIT $4`,
    [accountId, cursor ?? null, statuses ?? null, limit + 1],
  );
  return rows;
}

function findRoute(db: Queryable): Route {
  return defineRoute(
    {
      id: 'getPurchase',
      method: 'GET',
      path: '/nano/purchases/:id',
      tag,
      summary: 'What became of a payment to a seller',
      description:
        'Ask until it is `paid` or `returned`, or register a webhook for `purchase.paid` and `purchase.returned`.',
      auth: 'key',
      scope: 'read',
      params: z.strictObject({ id: z.string().max(64) }),
      examples: { params: { id: examplePurchase.id } },
      returns: { 200: { description: 'The purchase', schema: purchaseDetail, example: exampleDetail } },
      errors: [purchaseErrors.purchase_not_found],
    },
    async ({ caller, params }) => {
      const found = await findPurchase(db, params.id);
      if (found === undefined || found.accountId !== caller.accountId) throw purchaseErrors.purchase_not_found();
      return ok({ ...describePurchase(found), answer: await findAnswer(db, found) });
    },
  );
}
