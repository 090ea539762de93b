import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { serialize } from 'node:v8';
import { describe, expect, test, vi } from 'vitest';
import { ParserError } from '../../../src/kernel/parser/parser.ts';
import type { AnswerBytes, Task } from '../../../src/kernel/parser/task.ts';
import * as merchantTasks from '../../../src/shopping/adapters/tasks.ts';
import * as shoppingTasks from '../../../src/shopping/search/tasks.ts';
import { generatePage, type HostilePage, knownPages } from '../../support/hostile-pages.ts';
import { isMatrix } from '../../support/matrix.ts';
import { startTestShop, useSearch } from '../../support/merchant.ts';
import { useParser } from '../../support/parser.ts';

const shop = await startTestShop();
const { find } = useSearch(shop);
// On a busy machine a page that is read in a moment may take a while.
const parser = useParser({ mostMs: 30_000 });

const price = { atomic: 1_200n, decimals: 2, currency: 'USD', text: '$12.00' };

/** What a task takes besides the answer itself. */
const more = {
  url: 'https://shop.example/search?q=mug',
  site: { origin: 'https://shop.example', name: 'shop.example' },
  query: 'blue mug',
  currency: 'USD',
  transport: 'mcp',
  agent: 'PaywrightBot',
  line: 'paywright-site-verification=1',
  product: { title: 'Mug', price },
  products: [
    { title: 'Mug', price, moreVariants: true, variations: [{ id: '1', options: [{ name: 'Size', value: 'L' }] }] },
  ],
};
const { mayRead, ...ofAnswers } = { ...merchantTasks, ...shoppingTasks };
const tasks: readonly Task<AnswerBytes, unknown>[] = [
  ...(Object.values(ofAnswers) as readonly Task<never, unknown>[] as readonly Task<AnswerBytes, unknown>[]),
  { name: 'readOrderAnswer' },
  { name: 'readProof' },
];

/** What becomes of it: its output, which must not be large, or that it reached a limit. */
async function read(task: Task<AnswerBytes, unknown>, { type, text }: HostilePage): Promise<'read' | 'ended'> {
  const bytes = Buffer.from(text, text.includes('ispe') ? 'latin1' : 'utf8').subarray(0, 1_500_000);
  try {
    const output = await parser.run(task, { ...more, bytes, type });
    // A document that is passed on whole is bounded by what was asked for; robots.txt as well.
    const isWhole =
      task === ofAnswers.readJson || task === ofAnswers.readCheckoutReply || task === ofAnswers.readRobots;
    if (!isWhole) expect(serialize(output).length).toBeLessThan(600_000);
    return 'read';
  } catch (error) {
    if (error instanceof ParserError && (error.kind === 'too_slow' || error.kind === 'too_large')) return 'ended';
    throw error;
  }
}

describe('a page that once held up the whole service', () => {
  test.each(Object.entries(knownPages))('%s is read within the limits of one task', async (_what, page) => {
    for (const task of tasks) expect(await read(task, page)).toBe('read');
  });

  test.each(Object.entries(knownPages))('%s costs its own search at most', async (_what, { text }) => {
    shop.answers = { '/': text, '/search': text };
    expect(await find('mug')).toBeDefined();
  });
});

const count = isMatrix ? 5_000 : 150;

test(`${count} generated pages are read or ended by every task, and none of them breaks one`, {
  tags: ['longer'],
}, async () => {
  let ended = 0;
  for (let seed = 0; seed < count; seed++) {
    const page = generatePage(seed);
    // Every task gets every kind of page, though not every page.
    const some = tasks.filter((_, index) => index % 7 === seed % 7);
    const ends = await Promise.all(some.map((task) => read(task, page)));
    ended += ends.filter((end) => end === 'ended').length;
  }
  // With half a minute for each, whatever does not end by itself is a mistake of ours.
  expect(ended).toBe(0);
});

test('nothing that a shop sends is read by the process that serves', async () => {
  const marker = randomUUID();
  const seen: string[] = [];
  const watch = (text: unknown) => {
    if (String(text).includes(marker)) seen.push(new Error('read here').stack ?? '');
  };
  const parse = JSON.parse;
  vi.spyOn(JSON, 'parse').mockImplementation((text, reviver) => {
    watch(text);
    return parse(text, reviver);
  });
  const decode = TextDecoder.prototype.decode;
  vi.spyOn(TextDecoder.prototype, 'decode').mockImplementation(function (
    this: InstanceType<typeof TextDecoder>,
    ...given
  ) {
    const text = decode.apply(this, given);
    watch(text);
    return text;
  });
  const product = {
    '@type': 'Product',
    name: `Mug ${marker}`,
    offers: { price: '12.50', priceCurrency: 'USD' },
    url: '/products/mug',
  };
  const page = `<title>${marker}</title><script type="application/ld+json">${JSON.stringify(product)}</script>`;
  shop.answers = {
    '/robots.txt': `User-agent: *\nDisallow: /${marker}`,
    '/': page,
    '/search': page,
    '/search/suggest.json': { resources: { results: { products: [{ title: marker, price: '1', url: '/p' }] } } },
    '/wp-json/wc/store/v1/products': [{ name: marker, prices: { price: '100', currency_code: 'USD' } }],
    '/.well-known/ucp': { ucp: { version: marker } },
  };
  try {
    expect(await find('mug')).toMatchObject([{ title: expect.stringContaining(marker) }]);
    expect(seen).toEqual([]);
    // And it would have been seen.
    JSON.parse(`"${marker}"`);
    expect(seen).toHaveLength(1);
  } finally {
    vi.restoreAllMocks();
  }
});

test('what reads the bytes of strangers is not even loaded by the service', () => {
  const bundled = new URL('../../../dist/bundled/', import.meta.url);
  const text = readdirSync(bundled)
    .filter((name) => name.endsWith('.mjs'))
    .map((name) => readFileSync(new URL(name, bundled), 'utf8'))
    .join('\n');
  // The bundle names each file that it takes in.
  const files = [...text.matchAll(/^\/\/ (?:\.\.\/)?dist\/(.+\.js)$/gm)].map(([, file = '']) => file);
  expect(files).toContain('src/shopping/search/merchant-site.js');
  expect(files.filter((file) => file.includes('/reading/'))).toEqual([]);
  expect(text).not.toContain('htmlparser2');
});
