import { parseUnits } from 'viem';
import { advanceSaga } from '../../custody/steps/advance-saga.ts';
import { awaitLiquidity } from '../../custody/steps/serve-liquidity.ts';
import { approveSpender, approveStep, fillStep, fillWallet } from '../../custody/steps/spending-wallet.ts';
import type { Feature } from '../../kernel/feature.ts';
import type { Wakes } from '../../kernel/jobs/wakes.ts';
import { noCheckpoint } from '../../kernel/sagas/checkpoint.ts';
import { pictureOf } from '../../kernel/sagas/public-status.ts';
import { handleSaga, type SagaHandler, type SagaStep } from '../../kernel/sagas/run-saga.ts';
import { defineSettings, type Mode } from '../../kernel/settings.ts';
import { describeMoney, detailsOf, type EventType, jsonAmount } from '../../ledger/event-types.ts';
import { subtract } from '../../money/amount.ts';
import { type ChainId, chainIds, chains, homeChain } from '../../money/catalogue.ts';
import { numberInWords } from '../../money/in-words.ts';
import { isStopped, keyFrozen, requireUnfrozenStep, stoppedByFreeze } from '../../policies/frozen.ts';
import { attestationStep } from './await-attestation.ts';
import { type Bridge, findBridge } from './bridge.ts';
import { burn, prepareBurn } from './burn.ts';
import { type CarryHomeParts, startCarryingHome } from './carry-home.ts';
import { failBridge, returnToTreasury } from './fail-bridge.ts';
import { mint } from './mint.ts';
import { type BridgeParts, findBurner, spendingOf } from './parts.ts';
import { type BridgeRouteParts, bridgeRoutes } from './routes.ts';
import { bridgeSaga } from './saga.ts';
import { crossChainWalletRoutes } from './wallet-routes.ts';

const bridgeEvents: readonly EventType[] = [
  {
    name: 'bridge.completed',
    describe(posting) {
      const { amount, fee } = posting;
      return {
        ...describeMoney(posting),
        // The gas of both chains and the protocol's fee.
        ...(fee.atomic > 0n && { fee: jsonAmount(fee) }),
        received: jsonAmount(subtract(amount, fee)),
        ...detailsOf(posting),
      };
    },
  },
  { name: 'bridge.failed' },
];

interface BridgeSettings {
  /** The smallest deposit on each chain that is carried to the home chain, in atomic units of USDC; otherwise 1. */
  readonly carryMinimum: ReadonlyMap<ChainId, bigint>;
}

/** A smaller deposit is not worth the gas of carrying it home. In the sandbox gas is free. */
const liveMinimums = new Map(
  chainIds.filter((id) => id !== homeChain).map((id) => [id, parseUnits(chains[id].carryHomeFrom, 6)] as const),
);

export const bridge: Feature<{
  settings: BridgeSettings;
  serving: BridgeRouteParts;
  working: BridgeParts & Omit<CarryHomeParts, 'minimum'> & { readonly mode: Mode; readonly wakes: Wakes };
}> = {
  name: 'bridge',
  settings: defineSettings({
    variables: {},
    read: (_env, mode) => ({ carryMinimum: mode === 'sandbox' ? new Map() : liveMinimums }),
  }),
  chapters: [
    {
      name: 'Cross-chain',
      description: `USDC between ${numberInWords(chainIds.length)} chains over Circle’s cross-chain protocol (CCTP), burned on the source and minted on the destination chain.`,
      states: pictureOf(bridgeSaga, 'The states of a cross-chain transfer'),
    },
  ],
  events: bridgeEvents,
  sagas: [{ saga: bridgeSaga, handler: (parts) => bridgeHandler(parts) }],
  routes: (parts) => [...crossChainWalletRoutes(parts), ...bridgeRoutes(parts)],
  loops: ({ mode, db, ledger, networks, gasCosts, logger, wakes }, { carryMinimum }) =>
    startCarryingHome(
      { db, ledger, networks, gasCosts, logger, minimum: (chain) => carryMinimum.get(chain) ?? 1n },
      { wakes, pollMs: mode === 'sandbox' ? 1_000 : 30_000 },
    ),
};

export function bridgeHandler(parts: BridgeParts): SagaHandler {
  return handleSaga(bridgeSaga, (id) => findBridge(parts.db, id), {
    pending: (bridge) => fillBurner(parts, bridge),
    approving: (bridge) => approveBurn(parts, bridge),
    burning: (bridge) => burn(parts, bridge),
    waiting_attestation: attestationStep(parts),
    minting: (bridge) => mint(parts, bridge),
    returning: (bridge) => returnToTreasury(parts, bridge),
  });
}

/** Pending: the transfer waits in line for the treasury's tokens, which then go to the wallet that burns. */
async function fillBurner(parts: BridgeParts, bridge: Bridge): Promise<SagaStep> {
  const { db, ledger, checkpoint = noCheckpoint } = parts;
  const { id, from, amount } = bridge;
  const wait = await awaitLiquidity(parts, fillStep(id), { chain: from, asset: amount.asset });
  if (wait !== undefined) {
    if (!(await isStopped(db, bridge, { chain: from }))) return wait;
    await failBridge(parts, bridge, 'never asked', keyFrozen);
    return 'rest';
  }
  checkpoint('bridge.served');
  const end = await fillWallet(parts, await spendingOf(db, bridge), (tx) =>
    requireUnfrozenStep(tx, bridge, { ...fillStep(id), chain: from }),
  ).catch(stoppedByFreeze);
  if (end === 'stopped') {
    await failBridge(parts, bridge, 'never asked', keyFrozen);
    return 'rest';
  }
  if (end.state === 'waiting') return end;
  if (end.state === 'failed') {
    await failBridge(parts, bridge, end);
    return 'rest';
  }
  await db.transaction(async (tx) =>
    advanceSaga(tx, ledger, bridgeSaga, {
      id,
      from: 'pending',
      to: 'approving',
      settle: [{ ...fillStep(id), end }],
      plan: [{ ...approveStep(id), chain: from, wallet: await findBurner(tx, bridge) }],
    }),
  );
  checkpoint('bridge.filled');
  return 'go_on';
}

/** Approving: the protocol may take exactly this amount from the wallet that burns. */
async function approveBurn(parts: BridgeParts, bridge: Bridge): Promise<SagaStep> {
  const { db, checkpoint = noCheckpoint } = parts;
  const end = await approveSpender(parts, await spendingOf(db, bridge));
  if (end.state === 'waiting') return end;
  if (end.state === 'failed') {
    await failBridge(parts, bridge, end);
    return 'go_on';
  }
  await prepareBurn(parts, bridge, end);
  checkpoint('bridge.approved');
  return 'go_on';
}
