import { parseUrl } from '../../../parse-url.ts';
import type { MerchantPlatform } from '../../../shopping/merchant-platform.ts';
import type { MerchantSite } from '../../../shopping/merchant-site.ts';
import { MerchantTrouble, notOffered } from '../../../shopping/merchant-trouble.ts';
import type { Candidate } from '../../../shopping/product.ts';
import { homePage } from '../home-page.ts';
import { readPage } from '../read-page.ts';
import { withBrand } from '../shop-name.ts';
import { findProductLinks } from './find-product-links.ts';
import { findSearchPages } from './find-search.ts';
import { readProducts } from './read-products.ts';

const mostSearchPages = 4;
const mostProductPages = 8;
const pagesAtOnce = 4;

/** Any shop whose pages describe their products for search engines (schema.org): searched as a person would, page by page. */
export const jsonLdPlatform: MerchantPlatform = {
  name: 'json-ld',
  async *search(site, query) {
    const results = await findResults(site, query);
    let described = false;
    for (const candidate of results.products) {
      described = true;
      yield* withBrand(site, candidate);
    }
    if (described) return;
    for await (const candidate of readProductPages(site, results.links)) {
      described = true;
      yield* withBrand(site, candidate);
    }
    // Pages that describe no products prove no shop, and "nothing found" would be a guess.
    if (!described && results.links.length > 0) throw notOffered('pages that describe products');
  },
};

interface Results {
  readonly products: readonly Candidate[];
  readonly links: readonly string[];
}

/** The first search page that leads anywhere; nowhere, if a search that the site itself declares has found nothing. */
async function findResults(site: MerchantSite, query: string): Promise<Results> {
  const pages = findSearchPages(site, await homePage(site), query).slice(0, mostSearchPages);
  let last: unknown = notOffered('a search page');
  let answered = false;
  for (const { url, declared } of pages) {
    try {
      const answer = await site.get(url, { cut: true });
      if (answer.status !== 200) continue;
      const page = readPage(answer.text());
      const products = readProducts(page.jsonLd, page.priceCurrency).filter(({ price }) => price !== undefined);
      const links = findProductLinks(site, page, answer.url, query).slice(0, mostProductPages);
      if (products.length > 0 || links.length > 0) return { products: products.map(foundAt(answer.url)), links };
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

/** Addresses in a page are meant from where the page is. */
function foundAt(base: string): (candidate: Candidate) => Candidate {
  const absolute = (text: string | undefined) =>
    text === undefined ? undefined : (parseUrl(text, base)?.href ?? text);
  return (candidate) => ({
    ...candidate,
    url: absolute(candidate.url),
    picture: candidate.picture && { ...candidate.picture, url: absolute(candidate.picture.url) ?? '' },
  });
}

/** A few at a time, each as soon as it is there. */
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
        readProductPage(site, url).then(
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

/** The first product of a page is the one that the page is about. */
async function readProductPage(site: MerchantSite, url: string): Promise<readonly Candidate[]> {
  const answer = await site.get(url, { cut: true });
  if (answer.status !== 200) return [];
  const page = readPage(answer.text());
  const [product] = readProducts(page.jsonLd, page.priceCurrency).filter(({ price }) => price !== undefined);
  return product === undefined ? [] : [{ ...product, url: product.url ?? answer.url }].map(foundAt(answer.url));
}
