import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const fromRoot = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));
const compiledIn = (room: string) => fromRoot(`sandbox/${room}/compiled-contracts.json`);

/** Of the sources, what they compile to, and how. It is new whenever one of them is. */
const fingerprint = '5304140c939e1fc66e1645be493553c2e4a85fe2604fae41eebbf1b7827303bc';

test('the contracts that are committed are what their sources compile to', { tags: ['matrix'] }, async () => {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [fromRoot('scripts/compile-contracts.mjs'), '--print'],
    { maxBuffer: 10_000_000 },
  );
  // When it is not: node scripts/compile-contracts.mjs
  const committed = ['cctp', 'coins'].map((room) => readFile(compiledIn(room), 'utf8'));
  expect(stdout).toBe((await Promise.all(committed)).join(''));
});

// The compiler is one core's work for many seconds, so that npm test only looks whether something has changed.
test('neither the sources nor what they compile to have changed since that was compared', async () => {
  const hash = createHash('sha256');
  for (const room of ['cctp', 'coins']) {
    const folder = fromRoot(`sandbox/${room}/contracts`);
    const sources = (await readdir(folder)).filter((file) => file.endsWith('.sol')).sort();
    for (const file of [...sources.map((name) => `${folder}/${name}`), compiledIn(room)]) {
      hash.update(await readFile(file));
    }
  }
  hash.update(await readFile(fromRoot('scripts/compile-contracts.mjs')));
  hash.update(JSON.parse(await readFile(fromRoot('node_modules/solc/package.json'), 'utf8')).version);
  // When it has: run npm run test:matrix -- compiled-contracts, and write the new fingerprint here once that is green.
  expect(hash.digest('hex')).toBe(fingerprint);
});
