import { z } from 'zod';
import type { SilentChains } from '../../chains/network.ts';
import type { GasCosts } from '../../custody/treasury/gas-costs.ts';
import type { Database, Queryable, ReadDatabase } from '../../kernel/db/database.ts';
import { defineRoute, ok, type Route } from '../../kernel/http/define-route.ts';
import { type NewestLike, refuseDuplicate } from '../../kernel/http/duplicate-guard.ts';
import { findRoute, ownedBy } from '../../kernel/http/find-route.ts';
import { listRoute } from '../../kernel/http/list-route.ts';
import { askBefore } from '../../kernel/http/problem.ts';
import { moves, reads } from '../../kernel/http/tool.ts';
import { type Checkpoint, noCheckpoint } from '../../kernel/sagas/checkpoint.ts';
import { requirePosted } from '../../ledger/balance-errors.ts';
import { spendableBalances } from '../../ledger/balances.ts';
import type { RunOnce } from '../../ledger/idempotency.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { toDecimalText } from '../../money/amount.ts';
import { coins, currencies, type Holding } from '../../money/catalogue.ts';
import type { Market } from '../../money/market.ts';
import { askedOwner } from '../../policies/approvals/asks.ts';
import { type Consent, guarded } from '../../policies/consent.ts';
import { paymentRefusals } from '../../policies/refusals.ts';
import { swapErrors } from './errors.ts';
import { newestLike, openSwap } from './open-swap.ts';
import { describeQuote, describeSwap, exampleQuote, exampleSwap, swapQuote, swapRecord } from './response.ts';
import { publicStatuses, statesOf } from './saga.ts';
import { findSwap, selectSwaps } from './swap.ts';
import { type SwapToken, swapTokens } from './tokens.ts';
import { quoteRefusals, readSwap, readTerms, swapBody, swapRefusals, wanted } from './way.ts';

export interface SwapRouteParts {
  readonly db: Database;
  readonly readDb: ReadDatabase;
  readonly once: RunOnce;
  readonly ledger: Ledger;
  readonly market: Market;
  readonly gasCosts: GasCosts;
  readonly silentChains: SilentChains;
  readonly consent: Consent;
  readonly checkpoint?: Checkpoint;
}

/** A swap that is not done after 20 minutes gives the amount and its fee back. */
const validSeconds = 1_200;

export function swapRoutes(parts: SwapRouteParts): Route[] {
  return [
    tokensRoute(),
    quoteRoute(parts),
    executeRoute(parts),
    historyRoute(parts.readDb),
    balancesRoute(parts.db),
    swapRoute(parts.db),
  ];
}

const answeredAsText = 'Amounts are returned as decimal strings, because a JSON number cannot hold 18 decimals.';

function tokensRoute(): Route {
  const tokens: SwapToken[] = [...swapTokens];
  return defineRoute(
    {
      id: 'listSwapTokens',
      method: 'GET',
      path: '/swap/tokens',
      tag: 'Swaps',
      summary: 'List the tokens you can swap',
      auth: 'none',
      returns: {
        200: {
          description: 'The tokens, each of which can be swapped for every other',
          schema: z.object({ tokens: z.array(z.enum(swapTokens)) }),
          example: { tokens },
        },
      },
    },
    async () => ok({ tokens }),
  );
}

function quoteRoute(parts: SwapRouteParts): Route {
  return defineRoute(
    {
      id: 'quoteSwap',
      method: 'GET',
      path: '/swap/quote',
      tag: 'Swaps',
      summary: 'Quote a swap',
      tool: { name: 'swap_quote', title: 'Quote a swap', hints: reads },
      description: `The current on-chain price over the best route. A quote is not binding. ${answeredAsText}`,
      auth: 'key',
      scope: 'read',
      query: wanted,
      examples: { query: { from: 'USDC', to: 'ETH', amount: '100' } },
      returns: { 200: { description: 'The quote', schema: swapQuote, example: exampleQuote } },
      errors: quoteRefusals,
    },
    async ({ query }) => ok(describeQuote(await readTerms(parts, query))),
  );
}

function executeRoute(parts: SwapRouteParts): Route {
  const { once, ledger, consent, checkpoint = noCheckpoint } = parts;
  const { txId, fromToken, toToken, amountIn, amountOutMin } = exampleSwap;
  return defineRoute(
    {
      id: 'executeSwap',
      method: 'POST',
      path: '/swap/execute',
      tag: 'Swaps',
      summary: 'Swap one token for another',
      tool: { name: 'swap', title: 'Swap one token for another', hints: moves },
      description: `Takes the amount from your balance immediately and swaps it on Polygon; follow it at \`/swap/{txId}\`. You receive exactly what the chain pays out, at least \`amountOutMin\`: 99 % of the quote at acceptance. If the price moves further, or the swap is not executed in time, the amount and the fee of 0.5 % are refunded. The fee pays for the gas, so an amount whose fee does not cover it is refused. If the price moves after the swap was submitted, or you freeze the key that asked for it, \`gasFeeIfFailed\` is kept. ${answeredAsText} Send an Idempotency-Key, so that a retry after a lost connection never swaps twice.`,
      auth: 'key',
      scope: 'pay',
      body: swapBody,
      examples: { body: { from: 'USDC', to: 'ETH', amount: '100' } },
      idempotent: true,
      guarded: true,
      returns: {
        200: {
          description: 'The request was accepted',
          schema: swapRecord
            .pick({ txId: true, status: true, fromToken: true, toToken: true, amountIn: true, amountOutMin: true })
            .extend({ status: z.literal('queued') }),
          example: { txId, status: 'queued', fromToken, toToken, amountIn, amountOutMin },
        },
      },
      asks: askedOwner,
      errors: [...swapRefusals, ...paymentRefusals],
    },
    async ({ caller, body, idempotency, guard }) => {
      // Asked before the transaction but refused inside it: an idempotent replay gets its first response even while the chain is
      // silent or the market pays nothing, and whatever the policies say.
      const asked = await askBefore(() => readSwap(parts, body));
      const newest: NewestLike = (db) => newestLike(db, { ...asked().terms, accountId: caller.accountId });
      const consented = await askBefore(async () =>
        consent.forPayment(caller, guarded(asked().payment, { db: parts.db, guard, newest })),
      );
      const answer = await once({ caller, idempotency, kind: 'swaps' }, async (tx) => {
        const { terms } = asked();
        const { accountId, keyId } = caller;
        const authority = consented();
        await refuseDuplicate(tx, { guard, accountId }, newest);
        const { id, outcome } = await openSwap(tx, ledger, { ...terms, accountId, keyId, authority, validSeconds });
        requirePosted(outcome, 'a new swap');
        const { airpayFee, gasFeeIfFailed, amountOut, rate, ...told } = describeQuote(terms);
        return ok({ txId: id, status: 'queued' as const, ...told });
      });
      checkpoint('swap.opened');
      return answer;
    },
  );
}

function historyRoute(readDb: ReadDatabase): Route {
  return listRoute({
    id: 'listSwaps',
    path: '/swap/history',
    tag: 'Swaps',
    summary: 'List your swaps',
    name: 'swaps',
    item: swapRecord,
    example: exampleSwap,
    filters: { status: z.enum(publicStatuses).optional() },
    rows: ({ accountId, cursor, status, limit }) =>
      selectSwaps(
        readDb,
        `WHERE account_id = $1 AND ($2::text IS NULL OR id < $2) AND ($3::text[] IS NULL OR status = ANY ($3))
          ORDER BY id DESC LIMIT $4`,
        [accountId, cursor ?? null, status === undefined ? null : statesOf(status), limit + 1],
      ),
    describe: describeSwap,
  });
}

function balancesRoute(db: Queryable): Route {
  return defineRoute(
    {
      id: 'getSwapBalances',
      method: 'GET',
      path: '/swap/balances',
      tag: 'Swaps',
      summary: 'Retrieve your token balances',
      auth: 'key',
      scope: 'read',
      returns: {
        200: {
          description: 'Your balances on Polygon, as decimal strings in shortest form',
          schema: z.object({
            balances: z.object(perHolding(() => z.string())),
          }),
          example: { balances: { ...perHolding(() => '0'), USDC: '100.5', ETH: '0.03314' } },
        },
      },
    },
    async ({ caller }) => {
      const balances = await spendableBalances(db, caller.accountId);
      return ok({ balances: perHolding((asset) => toDecimalText(balances[asset])) });
    },
  );
}

function perHolding<Value>(of: (asset: Holding) => Value): Record<Holding, Value> {
  return Object.fromEntries([...currencies, ...coins].map((asset) => [asset, of(asset)])) as Record<Holding, Value>;
}

function swapRoute(db: Queryable): Route {
  return findRoute({
    id: 'getSwap',
    path: '/swap/:txId',
    tag: 'Swaps',
    summary: 'Retrieve a swap',
    description: 'Poll until the status is `completed` or `failed`, or register a webhook for `swap.completed`.',
    returns: 'The swap',
    final: ['completed', 'failed'],
    item: swapRecord,
    example: exampleSwap,
    notFound: swapErrors.swap_not_found,
    find: async (id, caller) => {
      const found = ownedBy(caller, await findSwap(db, id));
      return found && describeSwap(found);
    },
  });
}
