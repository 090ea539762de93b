import { z } from 'zod';
import type { FactorParts } from '../../accounts/second-factor/require-second-factor.ts';
import type { Networks, SilentChains } from '../../chains/network.ts';
import { enforceLimits } from '../../custody/limits/allow-list.ts';
import type { OutgoingLimits } from '../../custody/limits/outgoing-limits.ts';
import type { GasCosts } from '../../custody/treasury/gas-costs.ts';
import type { Queryable, ReadDatabase } from '../../kernel/db/database.ts';
import { amountValue, holding, toAmountValue } from '../../kernel/http/amount-field.ts';
import { defineRoute, ok, type Route } from '../../kernel/http/define-route.ts';
import { type NewestLike, refuseDuplicate } from '../../kernel/http/duplicate-guard.ts';
import { findRoute, ownedBy } from '../../kernel/http/find-route.ts';
import { listRoute } from '../../kernel/http/list-route.ts';
import { askBefore } from '../../kernel/http/problem.ts';
import { moves } from '../../kernel/http/tool.ts';
import { type Checkpoint, noCheckpoint } from '../../kernel/sagas/checkpoint.ts';
import { balanceErrors, requirePosted } from '../../ledger/balance-errors.ts';
import type { RunOnce } from '../../ledger/idempotency.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { type Amount, amountOf, toDecimalText } from '../../money/amount.ts';
import { assets, type ChainId, chains, coins, currencies, homeChain } from '../../money/catalogue.ts';
import { withdrawalFee } from '../../money/fees.ts';
import { listed } from '../../money/in-words.ts';
import type { Market } from '../../money/market.ts';
import { askedOwner } from '../../policies/approvals/asks.ts';
import { type Consent, guarded } from '../../policies/consent.ts';
import { paymentRefusals } from '../../policies/refusals.ts';
import { addressRoutes, limitsRoute } from './address-routes.ts';
import { cancelWithdrawal } from './cancel-withdrawal.ts';
import { quoteGas, refuseBelowGas } from './cover-gas.ts';
import { withdrawalErrors } from './errors.ts';
import { newestLike, openWithdrawal } from './open-withdrawal.ts';
import { chainField, describeWithdrawal, exampleWithdrawal, withdrawalRecord } from './response.ts';
import { publicStatuses, statesOf } from './saga.ts';
import { grossOf, readWayOut, withdrawBody, withdrawRefusals } from './way.ts';
import { findWithdrawal, selectWithdrawals } from './withdrawal.ts';

function cancelRoute({ once, ledger }: WithdrawalParts): Route {
  return defineRoute(
    {
      id: 'cancelWithdrawal',
      method: 'POST',
      path: '/circle/withdrawals/:txId/cancel',
      tag: 'Withdrawals',
      summary: 'Cancel a withdrawal',
      description:
        'A withdrawal can be cancelled only before it is submitted: while it is `queued` or `awaiting_liquidity`, or `held` by the service-wide hourly limit. The whole amount, including the fee, returns to your balance immediately. A withdrawal that the operator is reviewing cannot be cancelled. Cancelling twice returns the cancelled withdrawal.',
      auth: 'key',
      scope: 'withdraw',
      params: z.strictObject({ txId: z.string().max(64) }),
      examples: { params: { txId: exampleWithdrawal.txId } },
      idempotent: true,
      returns: {
        200: {
          description: 'The cancelled withdrawal',
          schema: withdrawalRecord,
          example: { ...exampleWithdrawal, status: 'cancelled', txHash: null },
        },
      },
      errors: [
        withdrawalErrors.withdrawal_not_found,
        withdrawalErrors.withdrawal_not_cancellable,
        balanceErrors.account_frozen,
      ],
    },
    async ({ caller, params, idempotency, ip }) =>
      once({ caller, idempotency, kind: 'withdrawals' }, async (tx) => {
        const { accountId, keyId } = caller;
        const by = { keyId, address: ip };
        return ok(describeWithdrawal(await cancelWithdrawal(tx, ledger, { id: params.txId, accountId, by })));
      }),
  );
}

export interface WithdrawalParts extends FactorParts {
  readonly readDb: ReadDatabase;
  readonly once: RunOnce;
  readonly ledger: Ledger;
  readonly networks: Networks;
  readonly silentChains: SilentChains;
  readonly market: Market;
  readonly gasCosts: GasCosts;
  readonly brakes: OutgoingLimits;
  readonly consent: Consent;
  readonly checkpoint?: Checkpoint;
}

export function withdrawalRoutes(parts: WithdrawalParts): Route[] {
  return [
    withdrawRoute(parts),
    historyRoute(parts.readDb),
    withdrawalRoute(parts.db),
    cancelRoute(parts),
    limitsRoute(parts),
    ...addressRoutes(parts),
  ];
}

function withdrawRoute(parts: WithdrawalParts): Route {
  const { once, ledger, gasCosts, brakes, consent, checkpoint = noCheckpoint } = parts;
  return defineRoute(
    {
      id: 'withdraw',
      method: 'POST',
      path: '/circle/withdraw',
      tag: 'Withdrawals',
      summary: 'Withdraw to an external address',
      tool: { name: 'withdraw', title: 'Withdraw to an external address', hints: moves },
      description: `The fee of 1.49 % is deducted from the amount, with 3 decimals in ${listed(currencies)} and 18 in ${listed(coins)}. It must cover the gas. ${listed(coins)} can be withdrawn only on ${chains[homeChain].name}: ${coinsArrive}. The amount is taken from your balance immediately and then sent; follow it at \`/circle/withdrawals/{txId}\`. You can cancel the withdrawal until it is submitted. If it fails, the whole amount is refunded. A 24-hour limit applies (\`/account/withdrawal-limits\`), and while your allow-list is on, you can only withdraw to addresses on it (\`/account/withdrawal-addresses\`). Send an Idempotency-Key, so that a retry after a lost connection never pays twice.`,
      auth: 'key',
      scope: 'withdraw',
      body: withdrawBody,
      examples: { body: { amount: 50, currency: 'USDC', address: exampleWithdrawal.address } },
      idempotent: true,
      guarded: true,
      returns: {
        200: {
          description: 'The request was accepted',
          schema: z.object({
            txId: z.string(),
            status: z.enum(publicStatuses),
            address: z.string(),
            chain: chainField,
            gross: amountValue,
            fee: amountValue,
            net: amountValue,
            currency: holding,
            note: z.string().meta({ description: 'Text for the person. Show it verbatim.' }),
          }),
          example: {
            txId: exampleWithdrawal.txId,
            status: 'queued',
            address: exampleWithdrawal.address,
            chain: homeChain,
            gross: 50,
            fee: 0.745,
            net: 49.255,
            currency: 'USDC',
            note: note(amountOf('USDC', 49_255_000n), homeChain, exampleWithdrawal.address),
          },
        },
      },
      asks: askedOwner,
      errors: [...withdrawRefusals, ...paymentRefusals],
    },
    async ({ caller, body, idempotency, guard }) => {
      const gross = grossOf(body);
      const fee = withdrawalFee(gross);
      // Asked before the transaction but refused inside it: an idempotent replay gets its first response even while the chain is
      // silent, whatever the amount is worth by now, and whatever the policies say.
      const wayOut = await askBefore(() => readWayOut(parts, caller, { ...body, address: body.address, gross }));
      const like = () => ({ accountId: caller.accountId, chain: body.chain, address: wayOut().address, gross });
      const newest: NewestLike = (db) => newestLike(db, like());
      const consented = await askBefore(async () =>
        consent.forPayment(caller, guarded(wayOut().payment, { db: parts.db, guard, newest })),
      );
      // A chain that is known to be silent is not asked for its gas price.
      const gas = await askBefore(() => quoteGas(gasCosts, { chain: body.chain, gross, value: wayOut().value }));
      const answer = await once({ caller, idempotency, kind: 'withdrawals' }, async (tx) => {
        const { address, value } = wayOut();
        const authority = consented();
        const quote = gas();
        const { accountId, keyId } = caller;
        await refuseDuplicate(tx, { guard, accountId }, newest);
        await enforceLimits(tx, brakes, { accountId, address, value });
        const { id, net, outcome } = await openWithdrawal(tx, ledger, {
          ...like(),
          keyId,
          authority,
          fee,
          gas: quote.needed,
          value,
        });
        requirePosted(outcome, 'a new withdrawal');
        // Refused last, so that an insufficient balance is reported before a minimum amount.
        refuseBelowGas(quote, { gross, fee, value });
        return ok({
          txId: id,
          status: 'queued' as const,
          address,
          chain: body.chain,
          gross: toAmountValue(gross),
          fee: toAmountValue(fee),
          net: toAmountValue(net),
          currency: body.currency,
          note: note(net, body.chain, address),
        });
      });
      checkpoint('withdrawal.opened');
      return answer;
    },
  );
}

function note(net: Amount, chainId: ChainId, address: string): string {
  return `${toDecimalText(net)} ${net.asset}${arrivesAs(net, chainId)} is on its way to ${address} on ${chains[chainId].name}. It usually arrives within a few minutes. You can cancel it until it is sent, but not afterwards.`;
}

/** Coins are held wrapped, and only the native one is unwrapped for a withdrawal. */
function arrivesAs({ asset }: Pick<Amount, 'asset'>, chainId: ChainId): string {
  if (asset === chains[chainId].native) return ' as a native coin';
  return assets[asset].token.symbol === asset ? '' : ` as ${assets[asset].token.symbol}`;
}

/** "ETH arrives as WETH, MATIC as a native coin": coins that arrive under another name. */
const coinsArrive = coins
  .filter((coin) => arrivesAs({ asset: coin }, homeChain) !== '')
  .map((coin, index) => `${coin}${index === 0 ? ' arrives' : ''}${arrivesAs({ asset: coin }, homeChain)}`)
  .join(', ');

function historyRoute(readDb: ReadDatabase): Route {
  return listRoute({
    id: 'listWithdrawals',
    path: '/circle/withdrawals',
    tag: 'Withdrawals',
    summary: 'List your withdrawals',
    name: 'withdrawals',
    item: withdrawalRecord,
    example: exampleWithdrawal,
    filters: { status: z.enum(publicStatuses).optional() },
    rows: ({ accountId, cursor, status, limit }) =>
      selectWithdrawals(
        readDb,
        `WHERE account_id = $1 AND ($2::text IS NULL OR id < $2) AND ($3::text[] IS NULL OR status = ANY ($3))
          ORDER BY id DESC LIMIT $4`,
        [accountId, cursor ?? null, status === undefined ? null : statesOf(status), limit + 1],
      ),
    describe: describeWithdrawal,
  });
}

function withdrawalRoute(db: Queryable): Route {
  return findRoute({
    id: 'getWithdrawal',
    path: '/circle/withdrawals/:txId',
    tag: 'Withdrawals',
    summary: 'Retrieve a withdrawal',
    returns: 'The withdrawal',
    final: ['complete', 'failed', 'cancelled'],
    item: withdrawalRecord,
    example: exampleWithdrawal,
    notFound: withdrawalErrors.withdrawal_not_found,
    find: async (id, caller) => {
      const found = ownedBy(caller, await findWithdrawal(db, id));
      return found && describeWithdrawal(found);
    },
  });
}
