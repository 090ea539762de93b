import type { Feature } from '../feature.ts';
import type { LocalChains } from './chains/local-chains.ts';
import { fillGas, fillGasSchedule } from './fill-gas.ts';
import { sandboxRoutes } from './routes.ts';

export interface SandboxParts {
  /** In live mode there are none, and nothing of all this. */
  readonly localChains: LocalChains | undefined;
}

export const sandbox: Feature<unknown, SandboxParts> = {
  name: 'sandbox',
  chapters: [{ name: 'Sandbox', description: 'Only in the sandbox: what stands in for the outside world.' }],
  routes: ({ db, secrets, localChains: chains }) =>
    chains === undefined ? [] : sandboxRoutes({ db, secrets, chains }),
  async onStart({ db, ledger, localChains }) {
    if (localChains !== undefined) await fillGas({ db, ledger, faucet: localChains.faucet });
  },
  schedules: ({ db, ledger, localChains }) =>
    localChains === undefined ? [] : [fillGasSchedule({ db, ledger, faucet: localChains.faucet })],
};
