import { parseUrl } from '../../parse-url.ts';
import type { MerchantPlatform } from '../../shopping/merchant-platform.ts';
import type { MerchantSite } from '../../shopping/merchant-site.ts';
import { notOffered } from '../../shopping/merchant-trouble.ts';
import { type Price, priceFromMinor, readCurrency } from '../../shopping/price.ts';
import type { Candidate } from '../../shopping/product.ts';
import { type Fields, fieldsOf, listOf, textOf } from './fields.ts';
import { homePage } from './home-page.ts';
import { withBrand } from './shop-name.ts';

type Ask = (parameters: Readonly<Record<string, string>>) => Promise<readonly Fields[]>;

/** The Store API that every WooCommerce shop has for its own cart and product blocks. */
export const wooCommercePlatform: MerchantPlatform = {
  name: 'woocommerce',
  async *search(site, query) {
    const { ask, products } = await findApi(site, query);
    const found = products.length > 0 ? products : await searchWordByWord(ask, query);
    for (const product of found) {
      if (product['is_purchasable'] !== false) yield* withBrand(site, readProduct(product));
    }
  },
};

const route = '/wc/store/v1/products';

/** The usual place, then the one that works without rewritten addresses, then the one that the front page names. */
async function findApi(site: MerchantSite, query: string): Promise<{ ask: Ask; products: readonly Fields[] }> {
  const places = [
    async () => `${site.origin}/wp-json${route}?`,
    async () => `${site.origin}/?rest_route=${encodeURIComponent(route)}&`,
    async () => fromFrontPage(site),
  ];
  for (const find of places) {
    const place = await find();
    if (place === undefined) continue;
    const ask = askAt(site, place);
    const products = await ask({ search: query }).catch((error: unknown) => {
      if (error === elsewhere) return undefined;
      throw error;
    });
    if (products !== undefined) return { ask, products };
  }
  throw notOffered('the search of a WooCommerce shop');
}

async function fromFrontPage(site: MerchantSite): Promise<string | undefined> {
  const page = await homePage(site).catch(() => undefined);
  if (page?.wordPressApi === undefined || parseUrl(page.wordPressApi, page.url) === undefined) return undefined;
  const root = new URL(page.wordPressApi, page.url);
  if (!site.isWithin(root)) return undefined;
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
    const products = answer.status === 200 ? answer.json() : undefined;
    // An empty list alone proves nothing, but it takes a server that answers this very address with a list.
    if (!Array.isArray(products)) throw elsewhere;
    const found = listOf(products, 10).map(fieldsOf);
    if (found.length > 0 && !found.some(({ prices }) => typeof prices === 'object')) throw elsewhere;
    return found;
  };
}

/** The shop looks for the phrase as a whole, so two words that stand apart are not found: each is asked for by itself. */
async function searchWordByWord(ask: Ask, query: string): Promise<readonly Fields[]> {
  const words = [...new Set(query.split(/\s+/).filter((word) => word.length > 2))]
    .sort((a, b) => b.length - a.length)
    .slice(0, 3);
  if (words.length < 2) return [];
  const found = await Promise.all(words.map((search) => ask({ search }).catch(() => [])));
  return [...new Map(found.flat().map((product) => [textOf(product['id']), product])).values()];
}

function readProduct(product: Fields): Candidate {
  const [picture] = listOf(product['images']).map(fieldsOf);
  const [brand] = listOf(product['brands']).map(fieldsOf);
  return {
    title: textOf(product['name']) ?? '',
    brand: textOf(brand?.['name']),
    price: readPrice(fieldsOf(product['prices'])),
    url: textOf(product['permalink']),
    picture: picture && { url: textOf(picture['src']) ?? '', alt: textOf(picture['alt']) },
    id: textOf(product['id']),
    variantId: product['has_options'] === true ? undefined : textOf(product['id']),
    available: typeof product['is_in_stock'] === 'boolean' ? product['is_in_stock'] : undefined,
  };
}

/** As the shop's own settings write it. How many decimals there are is the shop's setting too, whatever the currency has. */
function readPrice(prices: Fields): Price | undefined {
  const decimals = prices['currency_minor_unit'];
  const currency = readCurrency(prices['currency_code']);
  const price = priceFromMinor(prices['price'], currency, typeof decimals === 'number' ? decimals : undefined);
  if (price === undefined || typeof decimals !== 'number') return price;
  const digits = String(prices['price']).padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals).replace(/^0+(?=\d)/, '');
  const point = matchOr(prices['currency_decimal_separator'], /^[.,]$/, '.');
  const gap = matchOr(prices['currency_thousand_separator'], /^[.,'’\p{Z}]?$/u, ',');
  const signs = /^[^\p{N}&<]{0,12}$/u;
  // What would read as another amount than it is gets written as its currency usually is.
  if (decimals > 0 && gap === point) return price;
  const grouped = whole.replace(/\B(?=(?:\d{3})+$)/g, gap);
  const fraction = decimals > 0 ? `${point}${digits.slice(-decimals)}` : '';
  const text = `${matchOr(prices['currency_prefix'], signs, '')}${grouped}${fraction}${matchOr(prices['currency_suffix'], signs, '')}`;
  return /[^\d.,'’\s]/.test(text) ? { ...price, text } : price;
}

/** The sign before or after the amount, or within it, is the shop's own; but it must not pass for a part of the amount. */
function matchOr(value: unknown, form: RegExp, fallback: string): string {
  return typeof value === 'string' && form.test(value) ? value : fallback;
}
