import { z } from 'zod';
import type { Feature } from '../kernel/feature.ts';
import { defineSettings } from '../kernel/settings.ts';
import { type OpenSandbox, type SandboxSettings, type SearchWay, searchWays } from './sandbox-port.ts';

const ways = z
  .string()
  .default(searchWays.join(','))
  .transform((text) => text.split(',').map((part) => part.trim()) as SearchWay[])
  .refine((list) => list.every((way) => searchWays.includes(way)), {
    error: `must be a comma-separated list of ${searchWays.join(', ')}`,
  });

const trueOrFalse = z.enum(['true', 'false'], { error: 'must be true or false' });

interface SandboxParts {
  /** Undefined in live mode. */
  readonly sandbox: OpenSandbox | undefined;
}

/** What the service knows of the sandbox without loading it. Its settings are here because live mode must refuse them. */
export const sandbox: Feature<{ settings: SandboxSettings; serving: SandboxParts; working: SandboxParts }> = {
  name: 'sandbox',
  // Used in links to the sandbox's card company, which expire within minutes.
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
  chapters: [{ name: 'Sandbox', description: 'Only in the sandbox: stand-ins for the outside world.' }],
  routes: ({ sandbox: opened }) => opened?.routes() ?? [],
  onStart: async ({ sandbox: opened }) => opened?.onStart(),
  schedules: ({ sandbox: opened }) => opened?.schedules() ?? [],
};
