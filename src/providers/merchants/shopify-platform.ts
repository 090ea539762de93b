import { parseUrl } from '../../parse-url.ts';
import type { MerchantPlatform } from '../../shopping/merchant-platform.ts';
import type { MerchantSite } from '../../shopping/merchant-site.ts';
import { notOffered } from '../../shopping/merchant-trouble.ts';
import { priceFromText, readCurrency } from '../../shopping/price.ts';
import type { Candidate } from '../../shopping/product.ts';
import { type Fields, fieldsOf, listOf, textOf } from './fields.ts';
import { readProducts } from './json-ld/read-products.ts';
import { readPage } from './read-page.ts';
import { withBrand } from './shop-name.ts';

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
    const { products } = fieldsOf(fieldsOf(fieldsOf(answer.json())['resources'])['results']);
    if (answer.status !== 200 || !Array.isArray(products)) throw notOffered('the search of a Shopify shop');
    const found = listOf(products, 10).map(fieldsOf);
    if (found.length === 0) return;
    const currency = await findCurrency(site, found[0]);
    for (const product of found) yield* withBrand(site, readProduct(product, currency));
  },
};

function readProduct(product: Fields, currency: string | undefined): Candidate {
  const featured = fieldsOf(product['featured_image']);
  const picture = textOf(featured['url']) ?? textOf(product['image']);
  const [variant = {}] = listOf(product['variants']).map(fieldsOf);
  return {
    title: textOf(product['title']) ?? '',
    brand: textOf(product['vendor']),
    price: priceFromText(product['price'] ?? product['price_min'], currency),
    url: textOf(product['url']),
    picture: picture === undefined ? undefined : { url: picture, alt: textOf(featured['alt']) },
    id: textOf(product['id']),
    variantId: textOf(variant['id']),
    available: typeof product['available'] === 'boolean' ? product['available'] : undefined,
  };
}

/**
 * The search tells no currency, and it is not the shop's but the visitor's, by where the request comes from. The cart, asked
 * from the same place, knows it; so does the page of a product.
 */
async function findCurrency(site: MerchantSite, first: Fields | undefined): Promise<string | undefined> {
  const cart = await site.get(`${site.origin}/cart.js`, { accept: 'application/json' }).catch(() => undefined);
  const inCart = cart?.status === 200 ? readCurrency(fieldsOf(cart.json())['currency']) : undefined;
  const path = textOf(first?.['url']);
  if (inCart !== undefined || path === undefined || parseUrl(path, site.origin) === undefined) return inCart;
  const answer = await site.get(new URL(path, site.origin).href, { cut: true }).catch(() => undefined);
  if (answer === undefined || answer.status !== 200) return undefined;
  const page = readPage(answer.text());
  const [described] = readProducts(page.jsonLd, page.priceCurrency);
  return described?.price?.currency ?? readCurrency(page.priceCurrency);
}
