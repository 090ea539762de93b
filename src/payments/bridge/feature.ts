import { parseUnits } from 'viem';
import type { Feature } from '../../kernel/feature.ts';
import { pictureOf } from '../../kernel/sagas/public-status.ts';
import { defineSettings, type Mode } from '../../kernel/settings.ts';
import { type ChainId, chainIds, chains, homeChain } from '../../money/catalogue.ts';
import { counted } from '../../money/in-words.ts';
import { bridgeHandler } from './advance-bridge.ts';
import { type CarryHomeParts, startCarryingHome } from './carry-home.ts';
import { bridgeEvents } from './events.ts';
import type { BridgeParts } from './parts.ts';
import { type BridgeRouteParts, bridgeRoutes } from './routes.ts';
import { bridgeSaga } from './saga.ts';
import { crossChainWalletRoutes } from './wallet-routes.ts';

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
  working: BridgeParts & Omit<CarryHomeParts, 'minimum'> & { readonly mode: Mode };
}> = {
  name: 'bridge',
  settings: defineSettings({
    variables: {},
    read: (_env, mode) => ({ carryMinimum: mode === 'sandbox' ? new Map() : liveMinimums }),
  }),
  chapters: [
    {
      name: 'Cross-chain',
      description: `USDC between ${counted(chainIds.length)} chains over Circle’s cross-chain protocol (CCTP), burned on the source and minted on the destination chain.`,
      states: pictureOf(bridgeSaga, 'The states of a cross-chain transfer'),
    },
  ],
  events: bridgeEvents,
  sagas: [{ saga: bridgeSaga, handler: (parts) => bridgeHandler(parts) }],
  routes: (parts) => [...crossChainWalletRoutes(parts), ...bridgeRoutes(parts)],
  loops: ({ mode, db, ledger, networks, gasCosts, logger }, { carryMinimum }) =>
    startCarryingHome(
      { db, ledger, networks, gasCosts, logger, minimum: (chain) => carryMinimum.get(chain) ?? 1n },
      { pollMs: mode === 'sandbox' ? 1_000 : 30_000 },
    ),
};
