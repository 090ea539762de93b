import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const fromRoot = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

test('the contracts that are committed are what their sources compile to', async () => {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [fromRoot('scripts/compile-contracts.mjs'), '--print'],
    { maxBuffer: 10_000_000 },
  );
  // When it is not: node scripts/compile-contracts.mjs
  const committed = ['cctp', 'coins'].map((room) =>
    readFile(fromRoot(`src/sandbox/${room}/compiled-contracts.json`), 'utf8'),
  );
  expect(stdout).toBe((await Promise.all(committed)).join(''));
  // The compiler is one core's work for many seconds.
});
