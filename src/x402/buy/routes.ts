import { z } from 'zod';
import { limitErrors } from '../../custody/limits/errors.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import { defineRoute, ok, type Route } from '../../kernel/http/define-route.ts';
import { findRoute, ownedBy } from '../../kernel/http/find-route.ts';
import { listRoute } from '../../kernel/http/list-route.ts';
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
import { publicStatuses, statusesShownAs } from './saga.ts';
import { payBody, readMaximum, readRequest } from './seller-request.ts';

/** Other people's paid endpoints: pay for a call, and see what became of the money. */
export function purchaseRoutes(parts: BuyParts): Route[] {
  return [payRoute(parts), historyRoute(parts.db), purchaseRoute(parts.db)];
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
        ...Object.values(ledgerRefusals),
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

function historyRoute(db: Queryable): Route {
  return listRoute({
    id: 'listPurchases',
    path: '/nano/purchases',
    tag,
    summary: 'List your payments to sellers',
    name: 'purchases',
    item: purchaseRecord,
    example: examplePurchase,
    filters: { status: z.enum(publicStatuses).optional() },
    rows: async ({ accountId, cursor, status, limit }) => {
      const { rows } = await db.query<PurchaseRow>(
        `${selectPurchase} WHERE account_id = $1 AND ($2::text IS NULL OR id < $2) AND ($3::text[] IS NULL OR status = ANY ($3))
          ORDER BY id DESC LIMIT $4`,
        [accountId, cursor ?? null, status === undefined ? null : statusesShownAs(status), limit + 1],
      );
      return rows;
    },
    describe: (row) => describePurchase(toPurchase(row)),
  });
}

function purchaseRoute(db: Queryable): Route {
  return findRoute({
    id: 'getPurchase',
    path: '/nano/purchases/:id',
    tag,
    summary: 'Retrieve a payment to a seller',
    description:
      'Poll until the status is `paid` or `returned`, or register a webhook for `purchase.paid` and `purchase.returned`.',
    returns: 'The purchase',
    item: purchaseDetail,
    example: exampleDetail,
    notFound: purchaseErrors.purchase_not_found,
    find: async (id, caller) => {
      const found = ownedBy(caller, await findPurchase(db, id));
      return found && { ...describePurchase(found), answer: await findAnswer(db, found) };
    },
  });
}
