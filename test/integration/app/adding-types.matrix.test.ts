import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { followPage } from '../../support/follow-page.ts';
import { oneOfMany } from '../../support/matrix.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const pages = ['docs/adding-a-chain.md', 'docs/adding-a-coin.md', 'docs/adding-a-shop-platform.md'];
const adapters = [
  'src/payments/funding/adapters/coinbase/coinbase-on-ramp.ts',
  'src/payments/funding/adapters/moonpay/moonpay-on-ramp.ts',
];

/** Where the compiler finds mistakes in the source of a copy. */
async function findMistakes(folder: string): Promise<readonly string[]> {
  const settings = { extends: join(root, 'tsconfig.json'), include: ['src'] };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(settings));
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const said = await new Promise<string>((resolve) => {
    execFile(process.execPath, [compiler, '--noEmit', '-p', '.'], { cwd: folder }, (_error, text) => resolve(text));
  });
  return Array.from(said.matchAll(/^(\S[^(\n]*)\(/gm), ([, file = '']) => file);
}

// One run of the compiler, because it takes most of a minute: all three pages in one copy, with one step left out.
test(
  'what the pages say compiles, and an adapter without a word for the new chain does not',
  oneOfMany({ isRepresentative: false }),
  async () => {
    const folder = followPage(...pages);
    for (const adapter of adapters) {
      const file = join(folder, adapter);
      writeFileSync(file, readFileSync(file, 'utf8').replace('  UNI: undefined,\n', ''));
    }
    expect(await findMistakes(folder)).toEqual(adapters);
  },
);
