import { z } from 'zod';
import type { Networks, SilentChains } from '../../chains/network.ts';
import type { GasCosts } from '../../custody/treasury/gas-costs.ts';
import {
  chainDownErrors,
  orUnavailable,
  refuseSilent,
  requireNetwork,
  walletErrors,
} from '../../custody/wallets/errors.ts';
import type { WalletProvider } from '../../custody/wallets/provider.ts';
import { openUserWallet } from '../../custody/wallets/user-wallets.ts';
import type { Database } from '../../kernel/db/database.ts';
import { amountField, type GivenAmount, requireAmount } from '../../kernel/http/amount-field.ts';
import { defineRoute, ok, type Route } from '../../kernel/http/define-route.ts';
import { findRoute, ownedBy } from '../../kernel/http/find-route.ts';
import { listRoute } from '../../kernel/http/list-route.ts';
import { catchError } from '../../kernel/http/problem.ts';
import { type Checkpoint, noCheckpoint } from '../../kernel/sagas/checkpoint.ts';
import { balanceErrors, requirePosted } from '../../ledger/balance-errors.ts';
import type { RunOnce } from '../../ledger/idempotency.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { type Amount, amountOf, subtract, toDecimalText } from '../../money/amount.ts';
import type { ChainId } from '../../money/catalogue.ts';
import { requireBridgeable } from './ask-protocol.ts';
import { findBridge, selectBridges } from './bridge.ts';
import { keepHere } from './cross-chain-wallets.ts';
import { bridgeErrors } from './errors.ts';
import { gasBetween } from './gas-fee.ts';
import { openBridge } from './open-bridge.ts';
import { bridgeRecord, chainField, describeBridge, describeInitiation, exampleRecord } from './response.ts';
import { publicStatuses } from './saga.ts';

export interface BridgeRouteParts {
  readonly db: Database;
  readonly once: RunOnce;
  readonly ledger: Ledger;
  readonly networks: Networks;
  readonly silentChains: SilentChains;
  readonly gasCosts: GasCosts;
  readonly provider: WalletProvider;
  readonly publicUrl: () => string;
  readonly checkpoint?: Checkpoint;
}

export function bridgeRoutes(parts: BridgeRouteParts): Route[] {
  return [createRoute(parts), statusRoute(parts), historyRoute(parts)];
}

function createRoute(parts: BridgeRouteParts): Route {
  const { once, ledger, networks, silentChains, gasCosts, publicUrl, checkpoint = noCheckpoint } = parts;
  const { transferId, fromChain, toChain, amount, gasFee, protocolFee, estimatedTime, statusUrl } = exampleRecord;
  return defineRoute(
    {
      id: 'createCrossChainTransfer',
      method: 'POST',
      path: '/cross-chain/transfer',
      tag: 'Cross-chain',
      summary: 'Move your USDC to another chain',
      description:
        'Takes the amount from your balance on the source chain immediately, burns it there, mints it on the destination chain and credits your balance there. The gas of both chains is deducted from the amount; GET /cross-chain/chains quotes it. If the burn fails, the whole amount returns to your balance. Once burned, the money always arrives, even if it takes longer. A wallet on the destination chain is created if you have none. Amounts are returned as decimal strings. Send an Idempotency-Key, so that a retry after a lost connection never moves money twice.',
      auth: 'key',
      scope: 'pay',
      body: z.strictObject({
        from: chainField,
        to: chainField,
        amount: amountField,
        maxGasFee: amountField.optional().meta({
          description: 'A number or decimal string. The transfer is refused if its gas currently costs more.',
        }),
      }),
      examples: { body: { from: fromChain, to: toChain, amount } },
      idempotent: true,
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
      errors: [
        bridgeErrors.same_chain,
        walletErrors.chain_not_available,
        chainDownErrors.chain_not_available,
        bridgeErrors.bridge_limit_exceeded,
        bridgeErrors.bridge_amount_too_small,
        bridgeErrors.bridge_fee_too_high,
        bridgeErrors.bridge_paused,
        ...Object.values(balanceErrors),
      ],
    },
    async ({ caller, body, idempotency }) => {
      const { from, to } = body;
      const taken = requireAmount('USDC', body.amount);
      const mostGas = body.maxGasFee === undefined ? undefined : feeOrRefuse(body.maxGasFee);
      if (from === to) throw bridgeErrors.same_chain();
      // Checked before the transaction but thrown inside it: an idempotent replay gets its first response even while the chain is
      // silent or the protocol is paused.
      let fees = { gas: amountOf('USDC', 0n), protocol: amountOf('USDC', 0n) };
      const refusal = await catchError(async () => {
        const [source, target] = [requireNetwork(networks, from), requireNetwork(networks, to)];
        await refuseSilent(silentChains, from, to);
        const gas = await gasOrRefuse(gasCosts, { from, to, taken, mostGas });
        fees = { gas, protocol: await requireBridgeable(source, target, subtract(taken, gas)) };
        await orUnavailable(openUserWallet(parts, caller.accountId, to));
      });
      const answer = await once({ caller, idempotency, kind: 'bridges' }, async (tx) => {
        if (refusal !== undefined) throw refusal.error;
        const { id, outcome } = await openBridge(tx, ledger, {
          accountId: caller.accountId,
          keyId: caller.keyId,
          from,
          to,
          amount: subtract(taken, fees.gas),
          gasFee: fees.gas,
          origin: 'request',
          before: await keepHere(tx, caller.accountId, to),
        });
        requirePosted(outcome, 'a new cross-chain transfer');
        const opened = { id, from, to, amount: subtract(taken, fees.gas), gasFee: fees.gas };
        const { transferId, ...rest } = describeInitiation(opened, fees.protocol, publicUrl());
        return ok({ transferId, status: 'initiated' as const, ...rest });
      });
      checkpoint('bridge.opened');
      return answer;
    },
  );
}

interface Asked {
  readonly from: ChainId;
  readonly to: ChainId;
  readonly taken: Amount;
  readonly mostGas: Amount | undefined;
}

async function gasOrRefuse(gasCosts: GasCosts, { from, to, taken, mostGas }: Asked): Promise<Amount> {
  const { fee, minimum } = await gasBetween(gasCosts, from, to);
  const gas = `The gas for this transfer currently costs ${toDecimalText(fee)} USDC.`;
  if (mostGas !== undefined && fee.atomic > mostGas.atomic) {
    throw bridgeErrors.bridge_fee_too_high(
      `${gas} That exceeds your maxGasFee of ${toDecimalText(mostGas)} USDC. Raise it, or try again later.`,
      {
        members: { gasFee: toDecimalText(fee) },
      },
    );
  }
  if (taken.atomic < minimum.atomic) {
    throw bridgeErrors.bridge_amount_too_small(
      `${gas} The minimum amount between these chains is ${toDecimalText(minimum)} USDC.`,
      { members: { gasFee: toDecimalText(fee), leastAmount: toDecimalText(minimum) } },
    );
  }
  return fee;
}

/** Unlike an amount, a limit may be 0. */
function feeOrRefuse(limit: GivenAmount): Amount {
  return limit.toJSON() === 0 ? amountOf('USDC', 0n) : requireAmount('USDC', limit, 'maxGasFee');
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
    item: bridgeRecord,
    example: exampleRecord,
    notFound: bridgeErrors.bridge_not_found,
    find: async (id, caller) => {
      const found = ownedBy(caller, await findBridge(db, id));
      return found && describeBridge(found, publicUrl());
    },
  });
}

function historyRoute({ db, publicUrl }: BridgeRouteParts): Route {
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
        db,
        `WHERE account_id = $1 AND ($2::text IS NULL OR id < $2)
            AND ($3::text IS NULL OR CASE status WHEN 'returning' THEN 'failed' ELSE status END = $3)
          ORDER BY id DESC LIMIT $4`,
        [accountId, cursor ?? null, status ?? null, limit + 1],
      ),
    describe: (bridge) => describeBridge(bridge, publicUrl()),
  });
}
