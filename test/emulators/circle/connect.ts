import { afterAll, beforeAll } from 'vitest';
import { createNetworks, type Networks } from '../../../src/chains/network.ts';
import type { CallLimits } from '../../../src/custody/adapters/circle/circle-client.ts';
import {
  type CircleProvider,
  type CircleProviderParts,
  createCircleProvider,
} from '../../../src/custody/adapters/circle/circle-provider.ts';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { chainIds } from '../../../src/money/catalogue.ts';
import type { TestDatabase } from '../../support/database.ts';
import { type CircleEmulator, type EmulatorOptions, startCircleEmulator } from './emulator.ts';

/** Circle's real limits would make every test wait; those that are about limits set them. */
export const fast: Partial<CallLimits> = { writesPerSecond: 500, readsPerSecond: 2_000, pauseMs: 5 };

/** Chains whose tokens are known, and that nobody answers for. */
function silentNetworks(): Networks {
  return createNetworks(
    new Map(chainIds.map((id) => [id, { urls: ['http://127.0.0.1:9'], confirmations: 1, pollMs: 100 }])),
  );
}

export interface ConnectedCircle {
  readonly emulator: CircleEmulator;
  readonly provider: CircleProvider;
  /** Another provider on the same database and emulator, as in another process. */
  connect(parts?: Partial<CircleProviderParts>): Promise<CircleProvider>;
}

/** An emulator and a provider that talks to it, for a test file. Its fields may be read from the first test on. */
export function useCircle({ db }: TestDatabase, options: EmulatorOptions = {}): ConnectedCircle {
  let emulator: CircleEmulator | undefined;
  let provider: CircleProvider | undefined;

  const connect: ConnectedCircle['connect'] = (parts = {}) => {
    const { apiKey, entitySecret, url: baseUrl } = started(emulator);
    const networks = options.networks?.() ?? silentNetworks();
    const logger = createLogger('silent');
    return createCircleProvider({ apiKey, entitySecret, baseUrl, db, logger, networks, limits: fast, ...parts });
  };
  beforeAll(async () => {
    emulator = await startCircleEmulator({ tickMs: 5, ...options });
    provider = await connect();
  });
  afterAll(() => emulator?.stop());

  return {
    get emulator() {
      return started(emulator);
    },
    get provider() {
      return started(provider);
    },
    connect,
  };
}

function started<Part>(part: Part | undefined): Part {
  if (part === undefined) throw new Error('the emulator is not running yet');
  return part;
}
