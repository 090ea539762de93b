import { z } from 'zod';
import type { Feature } from '../kernel/feature.ts';
import { defineSettings } from '../kernel/settings.ts';
import { type OpenSandbox, type SandboxSettings, searchWays } from './sandbox-port.ts';

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
      SANDBOX_CHARGE_GAS: z.enum(['true', 'false'], { error: 'must be true or false' }).default('false'),
    },
    docs: {
      room: 'Sandbox',
      rows: {
        SANDBOX_CHARGE_GAS: {
          usual: '`false`',
          does: 'Charges the gas of cross-chain transfers with `true`, and refuses amounts that do not pay for their gas, as live mode does.',
          change: 'To see live fees in the sandbox. Live mode refuses it.',
        },
      },
    },
    harmless: ['SANDBOX_CHARGE_GAS'],
    read: ({ SANDBOX_CHARGE_GAS }) => ({ ways: searchWays, onRamp: true, chargeGas: SANDBOX_CHARGE_GAS === 'true' }),
    refuseLive: (_env, given) =>
      given['SANDBOX_CHARGE_GAS'] === undefined ? [] : ['SANDBOX_CHARGE_GAS is unsafe: it belongs to the sandbox'],
  }),
  chapters: [{ name: 'Sandbox', description: 'Only in the sandbox: stand-ins for the outside world.' }],
  routes: ({ sandbox: opened }) => opened?.routes() ?? [],
  onStart: async ({ sandbox: opened }) => opened?.onStart(),
  schedules: ({ sandbox: opened }) => opened?.schedules() ?? [],
};
