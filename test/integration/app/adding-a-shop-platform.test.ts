// @module-tag thorough
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { expect, test } from 'vitest';
import { followPage } from '../../support/follow-page.ts';
import { startTestShop } from '../../support/merchant.ts';

const folder = followPage('docs/adding-a-shop-platform.md');
// The copy has the parser that was built from our sources. Its own knows one more thing to read.
rmSync(join(folder, 'dist'));
await build({
  entryPoints: [join(folder, 'src/app/parser-process.ts')],
  outfile: join(folder, 'dist/src/app/parser-process.js'),
  bundle: true,
  packages: 'external',
  platform: 'node',
  format: 'esm',
});

const shop = await startTestShop();
const copied: typeof import('../../support/merchant.ts') = await import(join(folder, 'test/support/merchant.ts'));
const { find } = copied.useSearch(shop);
const path = '/stall/search.json';

test('a search finds a product in a shop of the new kind', async () => {
  const good = {
    sku: 'JAR-1',
    label: 'Jar of <b>honey</b>',
    maker: 'Bees',
    cents: 850,
    money: 'EUR',
    link: '/goods/1',
    left: 3,
  };
  shop.answers = { [path]: { goods: [good] } };
  expect(await find('honey')).toEqual([
    { title: 'Jar of honey', brand: 'Bees', price: '€8.50', priceNum: 8.5, url: `${shop.origin}/goods/1` },
  ]);
  expect(shop.asked.find((asked) => asked.path === path)?.query.get('q')).toBe('honey');
});

test('a shop that answers something else there is of another kind', async () => {
  shop.answers = { [path]: { products: [] } };
  expect(await find('honey')).toMatch(/^\d{3} \w+$/);
});
