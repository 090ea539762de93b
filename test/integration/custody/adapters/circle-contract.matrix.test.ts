import { expect } from 'vitest';
import { createCircleProvider } from '../../../../src/custody/adapters/circle/circle-provider.ts';
import { createLogger } from '../../../../src/kernel/log/logger.ts';
import { describeWalletProvider } from '../../../contract/wallet-provider.ts';
import { startCircleEmulator } from '../../../emulators/circle/emulator.ts';
import { complaintsAbout } from '../../../emulators/circle/published.ts';

/** The limits of Circle have tests of their own; here they would only make everybody wait. */
const limits = { writesPerSecond: 500, readsPerSecond: 2_000, pauseMs: 10 };

describeWalletProvider('circle', async ({ database: { db }, chains }) => {
  const emulator = await startCircleEmulator({ networks: () => chains.networks, tickMs: 10 });
  const { apiKey, entitySecret, url: baseUrl } = emulator;
  const logger = createLogger('silent');
  // This Circle's list is never behind.
  const parts = { apiKey, entitySecret, db, logger, networks: chains.networks, limits, listSettlesMs: 0 };
  return {
    provider: await createCircleProvider({ ...parts, baseUrl }),
    // A port that is never listened on.
    unreachable: () => createCircleProvider({ ...parts, baseUrl: 'http://127.0.0.1:9' }),
    async stop() {
      await emulator.stop();
      expect(complaintsAbout(emulator.exchanges)).toEqual([]);
    },
  };
});
