import { inParallel } from '../../kernel/in-parallel.ts';
import { parseUrl } from '../../kernel/text/parse-url.ts';
import type { MerchantPlatform } from '../search/merchant-platform.ts';
import type { MerchantSite } from '../search/merchant-site.ts';
import { notOffered } from '../search/merchant-trouble.ts';
import type { Candidate } from '../search/product.ts';
import { withBrand } from './front-page.ts';
import { jsonLdPlatform } from './json-ld-platform.ts';
import { readCartCurrency, readPageCurrency, readShopifyVariants, readSuggestions } from './tasks.ts';
import { ucpPlatform } from './ucp/ucp-platform.ts';
import { wooCommercePlatform } from './woocommerce-platform.ts';

const documentsAtOnce = 4;

/** Shopify's predictive search, which the shop's own theme uses. */
const shopifyPlatform: MerchantPlatform = {
  name: 'shopify',
  async *search(site, query) {
    const parameters = new URLSearchParams({
      q: query,
      'resources[type]': 'product',
      'resources[limit]': '10',
      'resources[options][unavailable_products]': 'last',
    });
    const answer = await site.get(`${site.origin}/search/suggest.json?${parameters}`, { accept: 'application/json' });
    const found = answer.status === 200 ? await answer.read(readSuggestions, { currency: undefined }) : undefined;
    if (found === undefined) throw notOffered('the search of a Shopify shop');
    if (found.count === 0) return;
    const currency = await findCurrency(site, found.firstAddress);
    const priced = currency === undefined ? found : await answer.read(readSuggestions, { currency });
    yield* await inParallel(priced?.products ?? [], documentsAtOnce, (one) => withVariants(site, one));
  },
};

/** The search lists no variants; each product's document does. If it cannot be read, the product is still shown. */
async function withVariants(site: MerchantSite, product: Candidate): Promise<Candidate> {
  const page = product.url === undefined ? undefined : parseUrl(product.url, site.origin);
  if (page === undefined || !site.isWithin(page)) return product;
  const url = `${page.origin}${page.pathname.replace(/\/$/, '')}.js`;
  const answer = await site.get(url, { accept: 'application/json' }).catch(() => undefined);
  if (answer?.status !== 200) return product;
  return (await answer.read(readShopifyVariants, { product }).catch(() => undefined)) ?? product;
}

/**
 * The search states no currency, and Shopify picks one by the visitor's location. The cart, requested from the same place, states
 * it; so does a product page.
 */
async function findCurrency(site: MerchantSite, firstAddress: string | undefined): Promise<string | undefined> {
  const cart = await site.get(`${site.origin}/cart.js`, { accept: 'application/json' }).catch(() => undefined);
  const inCart = cart?.status === 200 ? await cart.read(readCartCurrency) : undefined;
  const page = firstAddress === undefined ? undefined : parseUrl(firstAddress, site.origin);
  if (inCart !== undefined || page === undefined) return inCart;
  const answer = await site.get(page.href, { cut: true }).catch(() => undefined);
  return answer?.status === 200 ? answer.read(readPageCurrency) : undefined;
}

/** All platforms, most trusted first: APIs for agents before APIs for themes and markup in pages. */
export const merchantPlatforms: readonly MerchantPlatform[] = [
  ucpPlatform,
  shopifyPlatform,
  wooCommercePlatform,
  jsonLdPlatform,
].map(withBrand);
