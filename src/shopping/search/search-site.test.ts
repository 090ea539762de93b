import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { MerchantPlatform } from './merchant-platform.ts';
import type { MerchantSite } from './merchant-site.ts';
import { notOffered } from './merchant-trouble.ts';
import { priceFromMinor } from './price.ts';
import type { Candidate, Product } from './product.ts';
import { type SiteOutcome, searchSite } from './search-site.ts';

const site = {} as MerchantSite;

function clean({ title, url = '' }: Candidate): Product | undefined {
  const price = priceFromMinor(100, 'USD');
  if (price === undefined || title === '') return undefined;
  return {
    title,
    brand: 'B',
    price,
    url,
    picture: undefined,
    id: undefined,
    variants: [],
    moreVariants: false,
    available: undefined,
  };
}

type Step = string | number | Error;

/** Yields these titles; a number waits that many milliseconds, an error is thrown. */
const platform = (name: string, ...steps: readonly Step[]): MerchantPlatform => ({
  name,
  async *search() {
    for (const [index, step] of steps.entries()) {
      if (step instanceof Error) throw step;
      if (typeof step === 'number') await sleep(step);
      else yield { title: step, price: undefined, url: `https://${name}.example/${index}` };
    }
  },
});

async function search(
  platforms: readonly MerchantPlatform[],
  { query = 'mug', graceMs = 60, signal = new AbortController().signal } = {},
) {
  const titles: string[] = [];
  const searching = searchSite({ site, query, platforms, clean, graceMs, signal });
  for (;;) {
    const { done, value } = await searching.next();
    if (done === true) return { titles, outcome: value as SiteOutcome };
    titles.push((value as Product).title);
  }
}

const forEver = 60_000;

describe('of several ways to search a site', () => {
  it('the most trusted one wins, though others answer as well', async () => {
    const { titles, outcome } = await search([platform('a', 5, 'Mug of a'), platform('b', 'Mug of b')], {
      graceMs: 5_000,
    });
    expect([titles, outcome.platform?.name]).toEqual([['Mug of a'], 'a']);
  });

  it('one that finds everything that was asked for beats one that does not', async () => {
    const { titles } = await search([platform('a', 'Blue cup'), platform('b', 'Blue mug')], { query: 'blue mug' });
    expect(titles).toEqual(['Blue mug']);
  });

  it('one that is slow is not waited for longer than briefly', async () => {
    const { titles } = await search([platform('a', forEver, 'Mug of a'), platform('b', 'Mug of b')]);
    expect(titles).toEqual(['Mug of b']);
  });

  it('one that fails is none', async () => {
    const { titles, outcome } = await search([platform('a', notOffered('this')), platform('b', 'Mug of b')], {
      graceMs: 5_000,
    });
    expect(titles).toEqual(['Mug of b']);
    expect(outcome.troubles.map(({ kind }) => kind)).toEqual(['not_offered']);
  });

  it('what came together is ranked, and what comes later is given as it comes', async () => {
    const { titles } = await search([platform('a', 'Tea for a mug lover', 'Mug', 20, 'Another mug')]);
    expect(titles).toEqual(['Mug', 'Tea for a mug lover', 'Another mug']);
  });

  it('all that fail are told of', async () => {
    const { titles, outcome } = await search([platform('a', notOffered('this')), platform('b', 5, notOffered('that'))]);
    expect([titles, outcome.platform, outcome.troubles.length]).toEqual([[], undefined, 2]);
  });

  it('one that has looked and found nothing has answered', async () => {
    const { outcome } = await search([platform('a', notOffered('this')), platform('b', 5)]);
    expect(outcome.platform?.name).toBe('b');
  });

  it('one that has found nothing says nothing about others who were still looking when it was over', async () => {
    const over = AbortSignal.timeout(30);
    const { titles, outcome } = await search([platform('a'), platform('b', forEver, 'Mug')], { signal: over });
    expect(titles).toEqual([]);
    expect(outcome.platform).toBeUndefined();
  });

  it('the same address twice is one product, and what cannot be shown is none', async () => {
    const twice: MerchantPlatform = {
      name: 'a',
      async *search() {
        for (const title of ['Mug', 'Mug again', '']) yield { title, price: undefined, url: 'https://a.example/mug' };
      },
    };
    expect((await search([twice])).titles).toEqual(['Mug']);
  });

  it('a fault of ours is not hidden', async () => {
    await expect(search([platform('a', new TypeError('ours'))])).rejects.toThrow('ours');
  });

  it('all end when the signal comes, with what there is', async () => {
    const over = new AbortController();
    const searching = search([platform('a', 'Mug', forEver)], { signal: over.signal });
    await sleep(10);
    over.abort();
    expect((await searching).titles).toEqual(['Mug']);
    const none = new AbortController();
    const silent = search([platform('a', forEver)], { signal: none.signal });
    none.abort();
    expect(await silent).toMatchObject({ titles: [], outcome: { platform: undefined } });
  });
});
