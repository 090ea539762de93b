import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // What is waited for comes when it comes; on a busy machine that takes a while.
    expect: { poll: { timeout: 20_000 } },
    // Two cores: more files at once only make each other slow.
    maxWorkers: 2,
  },
});
