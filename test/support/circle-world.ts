import { afterAll, beforeAll } from 'vitest';
import { type CircleEmulator, type EmulatorOptions, startCircleEmulator } from '../emulators/circle/emulator.ts';
import { type TestChains, useChains } from './chains.ts';
import type { TestDatabase } from './database.ts';
import { type MortalService, useMortalServices } from './mortal-service.ts';

/** Circle and the chains, which outlive every service that uses them. */
export interface CircleWorld {
  readonly chains: TestChains;
  readonly emulator: CircleEmulator;
  /** Starts a service with its wallets at Circle. It ends at the checkpoint of this name; `never` is none. */
  start(endAt: string): Promise<MortalService>;
}

/**
 * Circle and the chains in the test's own process, and services that may be killed in processes of theirs. The chains are
 * kept here because they are kept by whoever comes first: a service joins them, and takes nothing along when it ends.
 */
export function useCircleWorld(database: TestDatabase, options: Omit<EmulatorOptions, 'networks'> = {}): CircleWorld {
  const chains = useChains(database);
  let emulator: CircleEmulator | undefined;
  const started = () => {
    if (emulator === undefined) throw new Error('the emulator is not running yet');
    return emulator;
  };
  beforeAll(async () => {
    emulator = await startCircleEmulator({ ...options, networks: () => chains.networks });
  });
  // Registered first, so that it runs last: services may still be talking to it.
  afterAll(() => emulator?.stop());

  return {
    chains,
    get emulator() {
      return started();
    },
    start: useMortalServices(database, () => ({
      env: {
        WALLET_PROVIDER: 'circle',
        CIRCLE_API_KEY: started().apiKey,
        CIRCLE_ENTITY_SECRET: started().entitySecret,
        CIRCLE_BASE_URL: started().url,
      },
    })),
  };
}
