import { randomFrom } from './random.ts';

/** Pages as somebody would write them who wants to hold up their reader: always the same ones for one number. */
export interface HostilePage {
  readonly type: string;
  readonly text: string;
}

/** As much as a reader gets at most. */
const mostCharacters = 1_500_000;

/** Those that were found to hold up the whole service for seconds. */
export const knownPages = {
  'a currency of 400 KB beside 4,750 offers': html(
    `<meta property="og:price:currency" content="${'e'.repeat(400_000)}">${jsonLd({
      '@graph': Array.from({ length: 95 }, (_, index) => ({
        '@type': 'Product',
        name: `Mug ${index}`,
        offers: Array.from({ length: 50 }, () => ({ price: '1' })),
      })),
    })}`,
  ),
  '490 open tags and 368,000 that close nothing': html('<b>'.repeat(490) + '</i>'.repeat(368_000)),
  '800 products without a brand': html(
    jsonLd({
      '@graph': Array.from({ length: 800 }, (_, index) => ({
        '@type': 'Product',
        name: `Mug ${index}`,
        offers: { price: index + 1, priceCurrency: 'USD' },
      })),
    }),
  ),
} satisfies Record<string, HostilePage>;

/** What pages are made of, and what breaks those who read them. */
const pieces = [
  '<a href="/products/mug">mug</a>',
  '<a href=x>',
  '<form action=/search><input name=q>',
  '<script type="application/ld+json">',
  '</script>',
  '<script>',
  '<meta property="og:site_name" content="',
  '<meta property=og:price:currency content=',
  '<title>',
  '</title>',
  '<!--',
  '-->',
  '<![CDATA[',
  ']]>',
  '<svg><style>',
  '</b></i></u>',
  '<p><table><tr><td>',
  '&lt;',
  '&#x1F600;',
  '&amp;quot;',
  '&'.repeat(50),
  '"',
  "'",
  '{"@type":"Product","name":"Mug","offers":{"price":"1","priceCurrency":"USD"}},',
  '{"@id":"a","offers":[{"@id":"a"},{"@id":"a"}]},',
  '{"a":[',
  ']}',
  '[[],[],[]],',
  '{"__proto__":{"a":1},"constructor":1},',
  '"\\ud800",',
  '\u0000',
  '\ufeff',
  '\u202e\u2066',
  'a\u0301\u0301\u0301\u0301\u0301',
  ' '.repeat(100),
  '\t\r\n',
  '9'.repeat(400),
  '1e308,',
  '-',
  '.,',
  '/*',
  '*/',
  '//',
  'User-agent: *\n',
  'Disallow: /*a*a*a*a*$\n',
  'Allow: ',
  'data: {"result":{}}\n\n',
  '\x89PNG\r\n\x1a\n',
  'ispe\0\0\0\0',
  '\u00ff\u00d8\u00ff',
] as const;

const types = [
  'text/html',
  'application/json',
  'text/html; charset=utf-16le',
  'application/ld+json; charset=x-user-defined',
  'text/event-stream',
  'text/plain; charset=gb18030',
  'image/avif',
] as const;

/** One that a generator has put together: pieces in a row, a few of them very often, some inside of others. */
export function generatePage(seed: number): HostilePage {
  const next = randomFrom(seed);
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(next() * items.length)] as Item;
  // Most are short, so that many can be tried; one in fifty is as long as may be.
  const length = Math.floor(next() < 0.02 ? mostCharacters : next() ** 4 * 100_000);
  let text = next() < 0.3 ? '<!doctype html><html><head>' : next() < 0.3 ? '[' : '';
  while (text.length < length) {
    const piece = Array.from({ length: 1 + Math.floor(next() * 3) }, () => pick(pieces)).join('');
    const times = next() < 0.2 ? Math.ceil((length - text.length) / piece.length / (1 + next() * 3)) : 1;
    text += piece.repeat(Math.max(1, times));
  }
  return { type: pick(types), text: text.slice(0, mostCharacters) };
}

function html(text: string): HostilePage {
  return { type: 'text/html', text };
}

function jsonLd(document: object): string {
  return `<script type="application/ld+json">${JSON.stringify(document)}</script>`;
}
