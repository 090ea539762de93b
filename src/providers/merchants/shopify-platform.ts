import { parseUrl } from '../../parse-url.ts';
import type { MerchantPlatform } from '../../shopping/merchant-platform.ts';
import type { MerchantSite } from '../../shopping/merchant-site.ts';
import { notOffered } from '../../shopping/merchant-trouble.ts';
import { readCartCurrency, readPageCurrency, readSuggestions } from './tasks.ts';
import { withBrand } from './with-brand.ts';

/** Shopify's predictive search, which every shop's own theme uses. */
export const shopifyPlatform: MerchantPlatform = {
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
    for (const product of priced?.products ?? []) yield* withBrand(site, query, product);
  },
};

/**
 * The search tells no currency, and it is not the shop's but the visitor's, by where the request comes from. The cart, asked
 * from the same place, knows it; so does the page of a product.
 */
async function findCurrency(site: MerchantSite, firstAddress: string | undefined): Promise<string | undefined> {
  const cart = await site.get(`${site.origin}/cart.js`, { accept: 'application/json' }).catch(() => undefined);
  const inCart = cart?.status === 200 ? await cart.read(readCartCurrency) : undefined;
  const page = firstAddress === undefined ? undefined : parseUrl(firstAddress, site.origin);
  if (inCart !== undefined || page === undefined) return inCart;
  const answer = await site.get(page.href, { cut: true }).catch(() => undefined);
  return answer?.status === 200 ? answer.read(readPageCurrency) : undefined;
}
