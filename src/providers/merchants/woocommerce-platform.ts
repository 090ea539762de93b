import { parseUrl } from '../../parse-url.ts';
import type { MerchantPlatform } from '../../shopping/merchant-platform.ts';
import type { MerchantSite } from '../../shopping/merchant-site.ts';
import { notOffered } from '../../shopping/merchant-trouble.ts';
import type { Candidate } from '../../shopping/product.ts';
import { frontPage } from './front-page.ts';
import { readStoreProducts, type StoreProducts } from './tasks.ts';
import { withBrand } from './with-brand.ts';

type Ask = (parameters: Readonly<Record<string, string>>) => Promise<StoreProducts>;

/** The Store API that every WooCommerce shop has for its own cart and product blocks. */
export const wooCommercePlatform: MerchantPlatform = {
  name: 'woocommerce',
  async *search(site, query) {
    const { ask, found } = await findApi(site, query);
    const products = found.count > 0 ? found.products : await searchWordByWord(ask, query);
    for (const product of products) yield* withBrand(site, query, product);
  },
};

const route = '/wc/store/v1/products';

/** The usual place, then the one that works without rewritten addresses, then the one that the front page names. */
async function findApi(site: MerchantSite, query: string): Promise<{ ask: Ask; found: StoreProducts }> {
  const places = [
    async () => `${site.origin}/wp-json${route}?`,
    async () => `${site.origin}/?rest_route=${encodeURIComponent(route)}&`,
    async () => fromFrontPage(site, query),
  ];
  for (const find of places) {
    const place = await find();
    if (place === undefined) continue;
    const ask = askAt(site, place);
    const found = await ask({ search: query }).catch((error: unknown) => {
      if (error === elsewhere) return undefined;
      throw error;
    });
    if (found !== undefined) return { ask, found };
  }
  throw notOffered('the search of a WooCommerce shop');
}

async function fromFrontPage(site: MerchantSite, query: string): Promise<string | undefined> {
  const page = await frontPage(site, query).catch(() => undefined);
  const root = page?.wordPressApi === undefined ? undefined : parseUrl(page.wordPressApi, page.url);
  if (root === undefined || !site.isWithin(root)) return undefined;
  if (root.searchParams.has('rest_route')) {
    root.searchParams.set('rest_route', route);
    return `${root.href}&`;
  }
  return `${root.origin}${root.pathname.replace(/\/$/, '')}${route}?`;
}

const elsewhere = notOffered('the Store API at this place');

function askAt(site: MerchantSite, place: string): Ask {
  return async (parameters) => {
    const all = new URLSearchParams({ per_page: '10', catalog_visibility: 'search', ...parameters });
    const answer = await site.get(`${place}${all}`, { accept: 'application/json' });
    const found = answer.status === 200 ? await answer.read(readStoreProducts) : undefined;
    if (found === undefined) throw elsewhere;
    return found;
  };
}

/** The shop looks for the phrase as a whole, so two words that stand apart are not found: each is asked for by itself. */
async function searchWordByWord(ask: Ask, query: string): Promise<readonly Candidate[]> {
  const words = [...new Set(query.split(/\s+/).filter((word) => word.length > 2))]
    .sort((a, b) => b.length - a.length)
    .slice(0, 3);
  if (words.length < 2) return [];
  const found = await Promise.all(words.map((search) => ask({ search }).catch(() => undefined)));
  return [...new Map(found.flatMap((one) => one?.products ?? []).map((product) => [product.id, product])).values()];
}
