import type { MerchantPlatform } from '../search/merchant-platform.ts';
import type { MerchantSite } from '../search/merchant-site.ts';
import { MerchantTrouble, notOffered } from '../search/merchant-trouble.ts';
import type { Candidate } from '../search/product.ts';
import { frontPage } from './front-page.ts';
import { type Results, readProductPage, readResults } from './tasks.ts';

const pagesAtOnce = 4;

/** Any shop that describes its products with schema.org markup. It is searched through its own search page and product pages. */
export const jsonLdPlatform: MerchantPlatform = {
  name: 'json-ld',
  async *search(site, query) {
    const { products, links } = await findResults(site, query);
    yield* products;
    if (products.length > 0) return;
    let described = false;
    for await (const candidate of readProductPages(site, links)) {
      described = true;
      yield candidate;
    }
    // Pages without product markup do not prove that this is a shop, so an empty result would be a guess.
    if (!described && links.length > 0) throw notOffered('pages that describe products');
  },
};

/** The first search page with products or product links. Empty if a search that the site declares found nothing. */
async function findResults(site: MerchantSite, query: string): Promise<Results> {
  const { searchPages } = await frontPage(site, query);
  const here = { origin: site.origin, name: site.name };
  let last: unknown = notOffered('a search page');
  let answered = false;
  for (const { url, declared } of searchPages) {
    try {
      const answer = await site.get(url, { cut: true });
      if (answer.status !== 200) continue;
      const results = await answer.read(readResults, { url: answer.url, site: here, query });
      if (results.products.length > 0 || results.links.length > 0) return results;
      answered ||= declared;
    } catch (error) {
      if (!(error instanceof MerchantTrouble) || (error.kind !== 'not_offered' && error.kind !== 'forbidden'))
        throw error;
      last = error;
    }
  }
  if (answered) return { products: [], links: [] };
  throw last;
}

/** Fetches a few pages in parallel and yields each product as soon as it arrives. */
async function* readProductPages(site: MerchantSite, links: readonly string[]): AsyncGenerator<Candidate> {
  const waiting = [...links];
  const under = new Map<number, Promise<{ key: number; found: readonly Candidate[]; trouble?: unknown }>>();
  let last: unknown;
  let any = false;
  for (let key = 0; waiting.length > 0 || under.size > 0; ) {
    while (under.size < pagesAtOnce && waiting.length > 0) {
      const url = waiting.shift() as string;
      const mine = key++;
      under.set(
        mine,
        fetchProductPage(site, url).then(
          (found) => ({ key: mine, found }),
          (trouble: unknown) => ({ key: mine, found: [], trouble }),
        ),
      );
    }
    const done = await Promise.race(under.values());
    under.delete(done.key);
    if (done.trouble !== undefined) last = done.trouble;
    for (const candidate of done.found) {
      any = true;
      yield candidate;
    }
  }
  if (!any && last !== undefined) throw last;
}

async function fetchProductPage(site: MerchantSite, url: string): Promise<readonly Candidate[]> {
  const answer = await site.get(url, { cut: true });
  const product = answer.status === 200 ? await answer.read(readProductPage, { url: answer.url }) : undefined;
  return product === undefined ? [] : [product];
}
