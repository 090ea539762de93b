import { z } from 'zod';
import type { Networks, SilentChains } from '../../chains/network.ts';
import type { GasCosts } from '../../custody/treasury/gas-costs.ts';
import { orUnavailable } from '../../custody/wallets/errors.ts';
import type { WalletProvider } from '../../custody/wallets/provider.ts';
import { openUserWallet } from '../../custody/wallets/user-wallets.ts';
import type { Database, ReadDatabase } from '../../kernel/db/database.ts';
import { defineRoute, ok, type Route } from '../../kernel/http/define-route.ts';
import { type NewestLike, refuseDuplicate } from '../../kernel/http/duplicate-guard.ts';
import { findRoute, ownedBy } from '../../kernel/http/find-route.ts';
import { listRoute } from '../../kernel/http/list-route.ts';
import { askBefore } from '../../kernel/http/problem.ts';
import { moves } from '../../kernel/http/tool.ts';
import { type Checkpoint, noCheckpoint } from '../../kernel/sagas/checkpoint.ts';
import { requirePosted } from '../../ledger/balance-errors.ts';
import type { RunOnce } from '../../ledger/idempotency.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { askedOwner } from '../../policies/approvals/asks.ts';
import { type Consent, guarded } from '../../policies/consent.ts';
import { paymentRefusals } from '../../policies/refusals.ts';
import { findBridge, selectBridges } from './bridge.ts';
import { keepHere } from './cross-chain-wallets.ts';
import { bridgeErrors } from './errors.ts';
import { newestLike, openBridge } from './open-bridge.ts';
import { bridgeRecord, describeBridge, describeInitiation, exampleRecord } from './response.ts';
import { publicStatuses } from './saga.ts';
import { bridgeBody, bridgeRefusals, readAmounts, readCrossing } from './way.ts';

export interface BridgeRouteParts {
  readonly db: Database;
  readonly readDb: ReadDatabase;
  readonly once: RunOnce;
  readonly ledger: Ledger;
  readonly networks: Networks;
  readonly silentChains: SilentChains;
  readonly gasCosts: GasCosts;
  readonly provider: WalletProvider;
  readonly consent: Consent;
  readonly publicUrl: () => string;
  readonly checkpoint?: Checkpoint;
}

export function bridgeRoutes(parts: BridgeRouteParts): Route[] {
  return [createRoute(parts), statusRoute(parts), historyRoute(parts)];
}

function createRoute(parts: BridgeRouteParts): Route {
  const { once, ledger, consent, publicUrl, checkpoint = noCheckpoint } = parts;
  const { transferId, fromChain, toChain, amount, gasFee, protocolFee, estimatedTime, statusUrl } = exampleRecord;
  return defineRoute(
    {
      id: 'createCrossChainTransfer',
      method: 'POST',
      path: '/cross-chain/transfer',
      tag: 'Cross-chain',
      summary: 'Move your USDC to another chain',
      tool: { name: 'bridge', title: 'Move USDC to another chain', hints: moves },
      description:
        'Takes the amount from your balance on the source chain immediately, burns it there, mints it on the destination chain and credits your balance there. The gas of both chains is deducted from the amount; GET /cross-chain/chains quotes it. If the burn fails, the whole amount returns to your balance; if you freeze the key that asked for it, less the gas that was spent by then. Once burned, the money always arrives, even if it takes longer. A wallet on the destination chain is created if you have none. Amounts are returned as decimal strings. Send an Idempotency-Key, so that a retry after a lost connection never moves money twice.',
      auth: 'key',
      scope: 'pay',
      body: bridgeBody,
      examples: { body: { from: fromChain, to: toChain, amount } },
      idempotent: true,
      guarded: true,
      returns: {
        200: {
          description: 'The request was accepted',
          schema: bridgeRecord
            .pick({
              transferId: true,
              status: true,
              fromChain: true,
              toChain: true,
              amount: true,
              gasFee: true,
              protocolFee: true,
              estimatedTime: true,
              statusUrl: true,
            })
            .extend({ status: z.literal('initiated') }),
          example: {
            transferId,
            status: 'initiated',
            fromChain,
            toChain,
            amount,
            gasFee,
            protocolFee,
            estimatedTime,
            statusUrl,
          },
        },
      },
      asks: askedOwner,
      errors: [...bridgeRefusals, ...paymentRefusals],
    },
    async ({ caller, body, idempotency, guard }) => {
      const { from, to } = body;
      const { taken, mostGas } = readAmounts(body);
      // Asked before the transaction but refused inside it: an idempotent replay gets its first response even while the chain is
      // silent or the protocol is paused, and whatever the policies say.
      const crossing = await askBefore(() => readCrossing(parts, { from, to, taken, mostGas }));
      const newest: NewestLike = (db) => newestLike(db, { accountId: caller.accountId, from, to, taken });
      const consented = await askBefore(async () =>
        consent.forPayment(caller, guarded(crossing().payment, { db: parts.db, guard, newest })),
      );
      const opened = await askBefore(async () => {
        consented();
        await orUnavailable(openUserWallet(parts, caller.accountId, to));
      });
      const answer = await once({ caller, idempotency, kind: 'bridges' }, async (tx) => {
        const { amount: burned, gasFee: gas, gasLeaving, protocolFee: kept } = crossing();
        const authority = consented();
        opened();
        const { accountId, keyId } = caller;
        await refuseDuplicate(tx, { guard, accountId }, newest);
        const { id, outcome } = await openBridge(tx, ledger, {
          accountId,
          keyId,
          authority,
          from,
          to,
          amount: burned,
          gasFee: gas,
          gasLeaving,
          origin: 'request',
          before: await keepHere(tx, accountId, to),
        });
        requirePosted(outcome, 'a new cross-chain transfer');
        const bridge = { id, from, to, amount: burned, gasFee: gas };
        const { transferId, ...rest } = describeInitiation(bridge, kept, publicUrl());
        return ok({ transferId, status: 'initiated' as const, ...rest });
      });
      checkpoint('bridge.opened');
      return answer;
    },
  );
}

function statusRoute({ db, publicUrl }: BridgeRouteParts): Route {
  return findRoute({
    id: 'getCrossChainTransfer',
    path: '/cross-chain/status/:transferId',
    tag: 'Cross-chain',
    summary: 'Retrieve a cross-chain transfer',
    description:
      'Poll every two minutes until the status is `completed` or `failed`, or register a webhook for `bridge.completed`.',
    returns: 'The transfer',
    final: ['completed', 'failed'],
    item: bridgeRecord,
    example: exampleRecord,
    notFound: bridgeErrors.bridge_not_found,
    find: async (id, caller) => {
      const found = ownedBy(caller, await findBridge(db, id));
      return found && describeBridge(found, publicUrl());
    },
  });
}

function historyRoute({ readDb, publicUrl }: BridgeRouteParts): Route {
  return listRoute({
    id: 'listCrossChainTransfers',
    path: '/cross-chain/history',
    tag: 'Cross-chain',
    summary: 'List your cross-chain transfers',
    returns: 'Newest first, including transfers that carry a deposit to Polygon',
    name: 'transfers',
    item: bridgeRecord,
    example: exampleRecord,
    filters: { status: z.enum(publicStatuses).optional() },
    rows: ({ accountId, cursor, status, limit }) =>
      selectBridges(
        readDb,
        `WHERE account_id = $1 AND ($2::text IS NULL OR id < $2)
            AND ($3::text IS NULL OR CASE status WHEN 'returning' THEN 'failed' ELSE status END = $3)
          ORDER BY id DESC LIMIT $4`,
        [accountId, cursor ?? null, status ?? null, limit + 1],
      ),
    describe: (bridge) => describeBridge(bridge, publicUrl()),
  });
}
