import { parseUrl } from '../../kernel/text/parse-url.ts';
import type { MerchantPlatform } from '../search/merchant-platform.ts';
import type { MerchantSite } from '../search/merchant-site.ts';
import { notOffered } from '../search/merchant-trouble.ts';
import type { Candidate } from '../search/product.ts';
import { frontPage } from './front-page.ts';
import { readStoreProducts, readStoreVariations, type StoreProduct, type StoreProducts } from './tasks.ts';

/** The Store API, which every WooCommerce shop has for its own cart and product blocks. */
export const wooCommercePlatform: MerchantPlatform = {
  name: 'woocommerce',
  async *search(site, query) {
    const { api, found } = await findApi(site, query);
    const products = found.count > 0 ? found.products : await searchWordByWord(api, query);
    yield* await api.withVariants(products);
  },
};

const route = '/wc/store/v1/products';

/** Tries the usual URL, then the one for servers without URL rewriting, then the one that the front page names. */
async function findApi(site: MerchantSite, query: string): Promise<{ api: StoreApi; found: StoreProducts }> {
  const places = [
    async () => `${site.origin}/wp-json${route}?`,
    async () => `${site.origin}/?rest_route=${encodeURIComponent(route)}&`,
    async () => fromFrontPage(site, query),
  ];
  for (const find of places) {
    const place = await find();
    if (place === undefined) continue;
    const api = storeApiAt(site, place);
    const found = await api.ask({ search: query }).catch((error: unknown) => {
      if (error === elsewhere) return undefined;
      throw error;
    });
    if (found !== undefined) return { api, found };
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

type StoreApi = ReturnType<typeof storeApiAt>;

function storeApiAt(site: MerchantSite, place: string) {
  const get = (parameters: Readonly<Record<string, string>>) =>
    site.get(`${place}${new URLSearchParams(parameters)}`, { accept: 'application/json' });
  return {
    async ask(parameters: Readonly<Record<string, string>>): Promise<StoreProducts> {
      const answer = await get({ per_page: '10', catalog_visibility: 'search', ...parameters });
      const found = answer.status === 200 ? await answer.read(readStoreProducts) : undefined;
      if (found === undefined) throw elsewhere;
      return found;
    },

    async withVariants(products: readonly StoreProduct[]): Promise<readonly Candidate[]> {
      const parents = products.flatMap(({ id, variations }) =>
        id === undefined || variations.length === 0 ? [] : [id],
      );
      if (parents.length === 0) return products;
      const answer = await get({ type: 'variation', parent: parents.join(), per_page: '100' }).catch(() => undefined);
      if (answer?.status !== 200) return products;
      return (await answer.read(readStoreVariations, { products }).catch(() => undefined)) ?? products;
    },
  };
}

/** The Store API matches the query as one phrase, so a query that finds nothing is repeated word by word. */
async function searchWordByWord({ ask }: StoreApi, query: string): Promise<readonly StoreProduct[]> {
  const words = [...new Set(query.split(/\s+/).filter((word) => word.length > 2))]
    .sort((a, b) => b.length - a.length)
    .slice(0, 3);
  if (words.length < 2) return [];
  const found = await Promise.all(words.map((search) => ask({ search }).catch(() => undefined)));
  return [...new Map(found.flatMap((one) => one?.products ?? []).map((product) => [product.id, product])).values()];
}
