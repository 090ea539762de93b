import { z } from 'zod';
import { limitErrors } from '../../custody/limits/errors.ts';
import type { Queryable, ReadDatabase } from '../../kernel/db/database.ts';
import { defineRoute, ok, type Route } from '../../kernel/http/define-route.ts';
import { findRoute, ownedBy } from '../../kernel/http/find-route.ts';
import { listRoute } from '../../kernel/http/list-route.ts';
import { moves } from '../../kernel/http/tool.ts';
import { askedOwner } from '../../policies/approvals/asks.ts';
import { paymentRefusals } from '../../policies/refusals.ts';
import { shoppingErrors } from '../../shopping/search/errors.ts';
import { type BuyParts, buy } from './buy.ts';
import { purchaseErrors } from './errors.ts';
import { findPurchase, selectPurchases } from './purchase.ts';
import {
  describePurchase,
  exampleDetail,
  examplePaid,
  examplePurchase,
  findAnswer,
  payResponse,
  purchaseDetail,
  purchaseRecord,
} from './response.ts';
import { publicStatuses, statesOf } from './saga.ts';
import { payBody, readMaximum, readRequest } from './seller-request.ts';

export interface PurchaseRouteParts extends BuyParts {
  readonly readDb: ReadDatabase;
}

export function purchaseRoutes(parts: PurchaseRouteParts): Route[] {
  return [payRoute(parts), historyRoute(parts.readDb), purchaseRoute(parts.db)];
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
      summary: 'Call a paid endpoint (x402) and pay from your balance',
      // Calling a paid endpoint twice is usual, so the guard lets it.
      tool: { name: 'pay_url', title: 'Call a paid URL', hints: { ...moves, idempotent: false, openWorld: true } },
      description:
        'Asks the seller for its price. If the price is at most `maxAmount`, it is taken from your balance, and the request is sent again with a payment in USDC on Polygon, in the seller’s x402 version. You get the seller’s response unchanged. Redirects are not followed. Our own paid endpoints (`/nano`) are charged directly. The price is held until the chain shows that the seller collected it; if the payment expires uncollected, the price is refunded. Payments to sellers above 10 USDC within 24 hours cost a fee of 1.49 %, as withdrawals do; `maxAmount` covers price and fee together. Your balance must cover `maxAmount` before the seller is called. Limits: 120 free responses an hour; for calls that get a server error or no response, 150 per seller in ten minutes and 1,200 in total an hour. Payments count towards your daily limit (`/account/withdrawal-limits`), and while your allow-list is on, external sellers are paid only at addresses on it. Send an Idempotency-Key, so that a retry after a lost connection never pays twice and returns the same response. The Duplicate-Guard refuses a call only while the seller has not answered the same one: the same method, URL and body. The first response includes up to 1 MiB of the body. For retries, the response is stored for 48 hours: 1 KiB of the body per 0.000001 USDC of its price (up to 64 MiB a day) plus 16 KiB (up to 1 MiB a day). `truncated` says whether the body was cut. If the headers exceed 2 KiB, only the content type is stored.',
      auth: 'key',
      scope: 'pay',
      body: payBody,
      examples: { body: { url: examplePurchase.url, maxAmount: 0.05 } },
      idempotent: true,
      guarded: true,
      returns: { 200: { description: 'The seller’s response', schema: payResponse, example: examplePaid } },
      asks: askedOwner,
      errors: [
        ...Object.values(refusals),
        limitErrors.daily_limit_reached,
        limitErrors.address_not_allowed,
        ...paymentRefusals,
        ...Object.values(shoppingErrors),
      ],
    },
    async ({ caller, ip, body, idempotency, guard }) => {
      const buying = { caller, ip, idempotency, guard, request: readRequest(body), maximum: readMaximum(body) };
      const { answer, replayed } = await buy(parts, buying);
      return { ...ok(answer), ...(replayed && { replayed }) };
    },
  );
}

function historyRoute(readDb: ReadDatabase): Route {
  return listRoute({
    id: 'listPurchases',
    path: '/nano/purchases',
    tag,
    summary: 'List your payments to sellers',
    name: 'purchases',
    item: purchaseRecord,
    example: examplePurchase,
    filters: { status: z.enum(publicStatuses).optional() },
    rows: ({ accountId, cursor, status, limit }) =>
      selectPurchases(
        readDb,
        `WHERE account_id = $1 AND ($2::text IS NULL OR id < $2) AND ($3::text[] IS NULL OR status = ANY ($3))
          ORDER BY id DESC LIMIT $4`,
        [accountId, cursor ?? null, status === undefined ? null : statesOf(status), limit + 1],
      ),
    describe: describePurchase,
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
    final: ['paid', 'returned'],
    item: purchaseDetail,
    example: exampleDetail,
    notFound: purchaseErrors.purchase_not_found,
    find: async (id, caller) => {
      const found = ownedBy(caller, await findPurchase(db, id));
      return found && { ...describePurchase(found), answer: await findAnswer(db, found) };
    },
  });
}
