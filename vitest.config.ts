import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { tags } from './test/support/tags.ts';
import { TellSkipped } from './test/support/tell-skipped.ts';

/** What takes longest, longest first: begun last, one worker would be at it alone while the other has nothing left to do. */
const longest = [
  'test/e2e/saga-crash-bridges.matrix.test.ts',
  'test/e2e/saga-crash-withdrawals.matrix.test.ts',
  'test/e2e/saga-crash-others.matrix.test.ts',
  'test/integration/app/restore-sagas.matrix.test.ts',
  'test/invariants/bank.matrix.test.ts',
  'test/e2e/recovery.matrix.test.ts',
  'test/e2e/start.matrix.test.ts',
  'test/integration/payments/swaps/swap-trouble.matrix.test.ts',
  'test/integration/custody/steps/paid-and-refunded.matrix.test.ts',
  'test/integration/payments/bridge/carry-home.matrix.test.ts',
  'test/integration/app/openapi.matrix.test.ts',
  'test/integration/payments/swaps/swaps.matrix.test.ts',
  'test/e2e/buy-page.matrix.test.ts',
  'test/integration/payments/bridge/bridge.matrix.test.ts',
  'test/integration/kernel/database-limits.matrix.test.ts',
  'test/integration/x402/sell/nano-settlement.matrix.test.ts',
  'test/integration/kernel/rate-limits.matrix.test.ts',
  'test/integration/webhooks/webhooks-delivery.test.ts',
  'test/integration/custody/watch/silent-chain.matrix.test.ts',
  'test/e2e/interrupted.matrix.test.ts',
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => {
      const listed = longest.findIndex((file) => moduleId.endsWith(`/${file}`));
      return listed < 0 ? longest.length : listed;
    };
    return (await super.sort(files)).sort((one, other) => place(one) - place(other));
  }
}

/** `npm run test:matrix` runs every combination; `npm test` runs the representative ones, and all other tests. */
const isMatrix = process.env['TEST_MATRIX'] === 'true';

export default defineConfig({
  test: {
    include: isMatrix
      ? ['test/**/*.matrix.test.ts']
      : ['src/**/*.test.ts', 'sandbox/**/*.test.ts', 'packages/**/*.test.ts', 'test/**/*.test.ts'],
    tags,
    strictTags: true,
    reporters: ['default', new TellSkipped()],
    globalSetup: ['test/support/global-setup.ts'],
    // What is waited for comes when it comes; on a busy machine that takes a while. These are for what never comes.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 60_000 } },
    // Two cores, and part of the time is spent waiting for chains, the database and processes: four files at once keep both cores busy.
    maxWorkers: 4,
    // Every file in the same four processes, one after another: a process for each would load the whole service each time.
    // See docs/decisions/0024-shared-test-processes.md for what that asks of a test.
    isolate: false,
    // Sources that were translated once are not translated again as long as they stay the same.
    experimental: { fsModuleCache: true },
    // Few collections of short-lived objects: there is memory enough, and the cores are busy.
    execArgv: ['--max-semi-space-size=64'],
    sequence: { sequencer: LongestFirst },
  },
});
