import { z } from 'zod';
import type { Feature } from '../../kernel/feature.ts';
import { pictureOf } from '../../kernel/sagas/public-status.ts';
import { defineSettings, type Mode } from '../../kernel/settings.ts';
import { type ChainId, chainIds, chains, homeChain } from '../../money/catalogue.ts';
import { counted } from '../../money/in-words.ts';
import { amountFromText } from '../../money/parse-amount.ts';
import { bridgeHandler } from './advance-bridge.ts';
import { type CarryHomeParts, startCarryingHome } from './carry-home.ts';
import { bridgeEvents } from './events.ts';
import type { BridgeParts } from './parts.ts';
import { type BridgeRouteParts, bridgeRoutes } from './routes.ts';
import { bridgeSaga } from './saga.ts';
import { crossChainWalletRoutes } from './wallet-routes.ts';

interface BridgeSettings {
  /** The smallest deposit on another chain that is moved to the home chain, in atomic units of USDC. */
  readonly carryMinimum: ReadonlyMap<ChainId, bigint>;
}

const usualMinimums = chainIds
  .filter((id) => id !== homeChain)
  .map((id) => `${id}=${chains[id].carryHomeFrom}`)
  .join(',');

export const bridge: Feature<{
  settings: BridgeSettings;
  serving: BridgeRouteParts;
  working: BridgeParts & Omit<CarryHomeParts, 'minimum'> & { readonly mode: Mode };
}> = {
  name: 'bridge',
  settings: defineSettings({
    variables: { CARRY_HOME_MINIMUM: z.string().transform(readMinimums).optional() },
    readme: [
      `| \`CARRY_HOME_MINIMUM\` | \`${usualMinimums}\`; in the sandbox everything | from which USDC amount a deposit on another chain is carried to Polygon |`,
    ],
    harmless: ['CARRY_HOME_MINIMUM'],
    read: ({ CARRY_HOME_MINIMUM }, mode) => ({
      carryMinimum: new Map([
        ...(mode === 'sandbox' ? [] : readPairs(usualMinimums).pairs),
        ...(CARRY_HOME_MINIMUM ?? []),
      ]),
    }),
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

function readMinimums(text: string, context: z.RefinementCtx): ReadonlyMap<ChainId, bigint> {
  const { pairs, unclear } = readPairs(text);
  if (unclear !== undefined) {
    context.addIssue({ code: 'custom', message: 'must be a list such as ETH=25,BASE=1' });
  }
  return new Map(pairs);
}

function readPairs(text: string): { readonly pairs: [ChainId, bigint][]; readonly unclear?: string } {
  const pairs: [ChainId, bigint][] = [];
  for (const part of text.split(',')) {
    const [name = '', amount = '', ...more] = part.trim().split('=');
    const chain = chainIds.find((id) => id === name && id !== homeChain);
    const parsed = amountFromText('USDC', amount);
    if (chain === undefined || !parsed.ok || more.length > 0) return { pairs, unclear: part };
    pairs.push([chain, parsed.amount.atomic]);
  }
  return { pairs };
}
