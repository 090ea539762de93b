import { z } from 'zod';
import type { Database } from '../db/database.ts';
import type { Feature } from '../feature.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Logger } from '../logger.ts';
import type { Secrets } from '../secrets.ts';
import { defineSettings } from '../settings.ts';
import type { LocalChains } from './chains/local-chains.ts';
import { fillSandboxFloat } from './fill-float.ts';
import { fillGas, fillGasSchedule } from './fill-gas.ts';
import type { SandboxOnRamp } from './on-ramp/sandbox-on-ramp.ts';
import { sandboxRoutes } from './routes.ts';
import type { SandboxSeller } from './seller/open-seller.ts';
import type { SandboxShops } from './shop/open-shops.ts';
import { type SearchWay, searchWays } from './shop/shop.ts';

export interface SandboxParts {
  /** In live mode there are none, and nothing of all this. */
  readonly localChains: LocalChains | undefined;
  readonly sandboxShops: SandboxShops | undefined;
  readonly sandboxSeller: SandboxSeller | undefined;
  /** Only where the sandbox plays the card company itself. */
  readonly sandboxOnRamp: SandboxOnRamp | undefined;
}

interface SandboxServing extends SandboxParts {
  readonly db: Database;
  readonly secrets: Secrets;
}

interface SandboxWork extends SandboxParts {
  readonly db: Database;
  readonly ledger: Ledger;
  readonly logger: Logger;
}

export interface SandboxSettings {
  /** How the demo shop can be searched. */
  readonly ways: readonly SearchWay[];
  /** Whether it plays a card company on funding links. */
  readonly onRamp: boolean;
  /** Whether gas is charged as in live mode. */
  readonly chargeGas: boolean;
}

const ways = z
  .string()
  .default(searchWays.join(','))
  .transform((text) => text.split(',').map((part) => part.trim()) as SearchWay[])
  .refine((list) => list.every((way) => searchWays.includes(way)), {
    error: `must be a comma-separated list of ${searchWays.join(', ')}`,
  });

const trueOrFalse = z.enum(['true', 'false'], { error: 'must be true or false' });

export const sandbox: Feature<{ settings: SandboxSettings; serving: SandboxServing; working: SandboxWork }> = {
  name: 'sandbox',
  // In the links to its card company, which are good for minutes.
  sealed: [{ purpose: 'sandbox-on-ramp', columns: [] }],
  settings: defineSettings({
    variables: {
      DEMO_SHOP_SEARCH: ways,
      SANDBOX_ON_RAMP: trueOrFalse.default('true'),
      SANDBOX_CHARGE_GAS: trueOrFalse.default('false'),
    },
    readme: [
      '| `DEMO_SHOP_SEARCH` | `ucp,shopify,woocommerce,json-ld` | sandbox only: the ways in which the demo shop can be searched |',
      '| `SANDBOX_ON_RAMP` | `true` | sandbox only: `false` takes its card company off funding links |',
      '| `SANDBOX_CHARGE_GAS` | `false` | sandbox only: `true` charges the gas of cross-chain transfers, and refuses what does not pay for its gas, as live mode does |',
    ],
    harmless: ['DEMO_SHOP_SEARCH', 'SANDBOX_ON_RAMP', 'SANDBOX_CHARGE_GAS'],
    read: ({ DEMO_SHOP_SEARCH, SANDBOX_ON_RAMP, SANDBOX_CHARGE_GAS }) => ({
      ways: DEMO_SHOP_SEARCH,
      onRamp: SANDBOX_ON_RAMP === 'true',
      chargeGas: SANDBOX_CHARGE_GAS === 'true',
    }),
    refuseLive: (_env, given) =>
      ['SANDBOX_ON_RAMP', 'SANDBOX_CHARGE_GAS']
        .filter((name) => given[name] !== undefined)
        .map((name) => `${name} is unsafe: it belongs to the sandbox`),
  }),
  chapters: [{ name: 'Sandbox', description: 'Only in the sandbox: what stands in for the outside world.' }],
  routes: ({ db, secrets, localChains: chains, sandboxShops: shops, sandboxSeller: seller }) =>
    chains === undefined || shops === undefined || seller === undefined
      ? []
      : sandboxRoutes({ db, secrets, chains, shops, seller }),
  async onStart({ db, ledger, logger, localChains }) {
    if (localChains === undefined) return;
    await fillGas({ db, ledger, faucet: localChains.faucet });
    await fillSandboxFloat({ db, ledger, logger, chains: localChains });
  },
  schedules: ({ db, ledger, localChains }) =>
    localChains === undefined ? [] : [fillGasSchedule({ db, ledger, faucet: localChains.faucet })],
};
