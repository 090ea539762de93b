import { z } from 'zod';
import type { SilentChains } from '../../chains/network.ts';
import { planStep } from '../../custody/steps/plan-step.ts';
import { fillStep } from '../../custody/steps/spending-wallet.ts';
import type { GasCosts } from '../../custody/treasury/gas-costs.ts';
import { chainDownErrors, refuseSilent } from '../../custody/wallets/errors.ts';
import { houseWallet } from '../../custody/wallets/house-wallets.ts';
import type { Database, Queryable, Transaction } from '../../kernel/db/database.ts';
import { amountField, requireAmount } from '../../kernel/http/amount-field.ts';
import { defineRoute, ok, type Route } from '../../kernel/http/define-route.ts';
import { findRoute, ownedBy } from '../../kernel/http/find-route.ts';
import { listRoute } from '../../kernel/http/list-route.ts';
import { newId } from '../../kernel/ids/ids.ts';
import { type Checkpoint, noCheckpoint } from '../../kernel/sagas/checkpoint.ts';
import { wakeSaga } from '../../kernel/sagas/wake-saga.ts';
import { houseAccount, userAccount } from '../../ledger/account-id.ts';
import { balanceErrors, requirePosted } from '../../ledger/balance-errors.ts';
import { spendableBalances } from '../../ledger/balances.ts';
import type { RunOnce } from '../../ledger/idempotency.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Outcome } from '../../ledger/posting.ts';
import { subtract, toDecimalText } from '../../money/amount.ts';
import { coins, currencies, type Holding, homeChain } from '../../money/catalogue.ts';
import type { Market } from '../../money/market.ts';
import { swapErrors } from './errors.ts';
import { type QuoteParts, quoteSwap, type SwapTerms } from './quote-swap.ts';
import { describeQuote, describeSwap, exampleQuote, exampleSwap, swapQuote, swapRecord } from './response.ts';
import { publicStatuses, statesOf, swapSaga } from './saga.ts';
import { findSwap, selectSwaps } from './swap.ts';
import { isSwapToken, type SwapToken, swapTokens } from './tokens.ts';

interface NewSwap extends Omit<SwapTerms, 'rate'> {
  readonly accountId: bigint;
  readonly keyId?: string;
  readonly validSeconds: number;
}

/** Writes the row, the first step, the job and the posting in the caller's commit. */
export async function openSwap(
  tx: Transaction,
  ledger: Ledger,
  { accountId, keyId, amount, fee, gasFee, poolGas, amountOut, amountOutMin, validSeconds }: NewSwap,
): Promise<{ readonly id: string; readonly outcome: Outcome['outcome'] }> {
  const id = newId('swp');
  const swapper = await houseWallet(tx, 'swaps', homeChain);
  await tx.query(
    `INSERT INTO swaps (id, account_id, asset, to_asset, amount, fee, gas_fee, pool_gas, quoted, amount_out_min, deadline, swapper_id,
        status)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, floor(extract(epoch FROM clock_timestamp())) + $11, $12, 'queued')`,
    [
      id,
      accountId,
      amount.asset,
      amountOut.asset,
      amount.atomic,
      fee.atomic,
      gasFee.atomic,
      poolGas,
      amountOut.atomic,
      amountOutMin.atomic,
      validSeconds,
      swapper.id,
    ],
  );
  await planStep(tx, {
    saga: swapSaga.name,
    ...fillStep(id),
    chain: homeChain,
    leaves: [{ amount: subtract(amount, fee), recipient: swapper.address, stays: true }],
  });
  await wakeSaga(tx, { saga: swapSaga.name, id, lane: homeChain });
  const [posted] = await ledger.postWithin(tx, [
    {
      type: 'swap',
      amount,
      fee,
      entries: [
        { account: userAccount(accountId, amount.asset), atomic: -amount.atomic },
        { account: houseAccount('swaps_in_transit', amount.asset), atomic: amount.atomic },
      ],
      reference: `swap:${id}`,
      description: `To ${amountOut.asset}`,
      details: { swapId: id, fromToken: amount.asset, toToken: amountOut.asset },
      senderId: accountId,
      ...(keyId !== undefined && { keyId }),
    },
  ]);
  if (posted === undefined) throw new Error('the ledger gave no outcome');
  return { id, outcome: posted.outcome };
}

export interface SwapRouteParts {
  readonly db: Database;
  readonly once: RunOnce;
  readonly ledger: Ledger;
  readonly market: Market;
  readonly gasCosts: GasCosts;
  readonly silentChains: SilentChains;
  readonly checkpoint?: Checkpoint;
}

/** A swap that is not done after 20 minutes gives the amount and its fee back. */
const validSeconds = 1_200;

export function swapRoutes(parts: SwapRouteParts): Route[] {
  return [
    tokensRoute(),
    quoteRoute(parts),
    executeRoute(parts),
    historyRoute(parts.db),
    balancesRoute(parts.db),
    swapRoute(parts.db),
  ];
}

/** Any string, so that an unknown token gets the code `unknown_token` instead of `invalid_request`. */
const token = z.string().meta({ description: `One of ${swapTokens.join(', ')}.`, enum: [...swapTokens] });
const amount = amountField.meta({
  description:
    'A number or decimal string greater than 0, with at most 6 decimals for USDC and 18 for the others. Use a string for full precision.',
});
const answeredAsText = 'Amounts are returned as decimal strings, because a JSON number cannot hold 18 decimals.';
const wanted = z.strictObject({ from: token, to: token, amount });

const refusals = [
  swapErrors.unknown_token,
  swapErrors.same_token,
  swapErrors.swap_amount_too_small,
  swapErrors.insufficient_liquidity,
  swapErrors.price_impact_too_high,
];

async function readTerms(parts: QuoteParts, { from, to, amount: given }: z.output<typeof wanted>): Promise<SwapTerms> {
  const [sold, bought] = [requireToken('from', from), requireToken('to', to)];
  if (sold === bought) throw swapErrors.same_token();
  return quoteSwap(parts, requireAmount(sold, given), bought);
}

function requireToken(path: string, text: string): SwapToken {
  if (isSwapToken(text)) return text;
  const message = `must be one of ${swapTokens.join(', ')}`;
  throw swapErrors.unknown_token(`${path} ${message}, in exactly this spelling.`, { errors: [{ path, message }] });
}

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
      description: `The current on-chain price over the best route. A quote is not binding. ${answeredAsText}`,
      auth: 'key',
      scope: 'read',
      query: wanted,
      examples: { query: { from: 'USDC', to: 'ETH', amount: '100' } },
      returns: { 200: { description: 'The quote', schema: swapQuote, example: exampleQuote } },
      errors: refusals,
    },
    async ({ query }) => ok(describeQuote(await readTerms(parts, query))),
  );
}

function executeRoute(parts: SwapRouteParts): Route {
  const { once, ledger, silentChains, checkpoint = noCheckpoint } = parts;
  const { txId, fromToken, toToken, amountIn, amountOutMin } = exampleSwap;
  return defineRoute(
    {
      id: 'executeSwap',
      method: 'POST',
      path: '/swap/execute',
      tag: 'Swaps',
      summary: 'Swap one token for another',
      description: `Takes the amount from your balance immediately and swaps it on Polygon; follow it at \`/swap/{txId}\`. You receive exactly what the chain pays out, at least \`amountOutMin\`: 99 % of the quote at acceptance. If the price moves further, or the swap is not executed in time, the amount and the fee of 0.5 % are refunded. The fee pays for the gas, so an amount whose fee does not cover it is refused. If the price moves after the swap was submitted, \`gasFeeIfFailed\` is kept. ${answeredAsText} Send an Idempotency-Key, so that a retry after a lost connection never swaps twice.`,
      auth: 'key',
      scope: 'pay',
      body: wanted,
      examples: { body: { from: 'USDC', to: 'ETH', amount: '100' } },
      idempotent: true,
      returns: {
        200: {
          description: 'The request was accepted',
          schema: swapRecord
            .pick({ txId: true, status: true, fromToken: true, toToken: true, amountIn: true, amountOutMin: true })
            .extend({ status: z.literal('queued') }),
          example: { txId, status: 'queued', fromToken, toToken, amountIn, amountOutMin },
        },
      },
      errors: [...refusals, chainDownErrors.chain_not_available, ...Object.values(balanceErrors)],
    },
    async ({ caller, body, idempotency }) => {
      // Checked before the transaction but thrown inside it: an idempotent replay gets its first response even while the chain is
      // silent or the market pays nothing.
      const asked = await refuseSilent(silentChains, homeChain)
        .then(() => readTerms(parts, body))
        .then(
          (terms) => ({ terms }),
          (error: unknown) => ({ error }),
        );
      const answer = await once({ caller, idempotency, kind: 'swaps' }, async (tx) => {
        if ('error' in asked) throw asked.error;
        const { accountId, keyId } = caller;
        const { id, outcome } = await openSwap(tx, ledger, { ...asked.terms, accountId, keyId, validSeconds });
        requirePosted(outcome, 'a new swap');
        const { airpayFee, gasFeeIfFailed, amountOut, rate, ...terms } = describeQuote(asked.terms);
        return ok({ txId: id, status: 'queued' as const, ...terms });
      });
      checkpoint('swap.opened');
      return answer;
    },
  );
}

function historyRoute(db: Queryable): Route {
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
        db,
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
    item: swapRecord,
    example: exampleSwap,
    notFound: swapErrors.swap_not_found,
    find: async (id, caller) => {
      const found = ownedBy(caller, await findSwap(db, id));
      return found && describeSwap(found);
    },
  });
}
