import { parseUrl } from '../parse-url.ts';
import type { Product } from '../shopping/product.ts';
import type { MerchantSearch } from '../shopping/search-merchant.ts';
import type { Website } from '../shopping/website.ts';
import { orderErrors } from './errors.ts';

export interface WantedProduct {
  readonly title: string;
  readonly brand: string | undefined;
  readonly url: string | undefined;
}

/** A product that can be named to the shop. */
export interface OrderedProduct {
  readonly title: string;
  readonly brand: string;
  readonly url: string;
  readonly itemId: string;
  readonly price: Product['price'];
}

/**
 * The one product of this title and brand, as the shop itself finds it now. What fits only nearly is not what was meant, and of
 * two that fit none is chosen.
 */
export async function productOrRefuse(
  merchants: MerchantSearch,
  {
    website,
    wanted,
    platform,
  }: { readonly website: Website; readonly wanted: WantedProduct; readonly platform?: string },
): Promise<OrderedProduct> {
  const found: Product[] = [];
  const search = merchants.search(website, wanted.title.slice(0, 200), new AbortController().signal, {
    onlyBy: platform,
  });
  for await (const product of search) found.push(product);
  return choose(found, wanted);
}

function choose(found: readonly Product[], wanted: WantedProduct): OrderedProduct {
  const titled = found.filter(({ title }) => alike(title, wanted.title));
  const branded = titled.filter(({ brand }) => wanted.brand === undefined || alike(brand, wanted.brand));
  const fitting = branded.filter(({ url }) => wanted.url === undefined || sameAddress(url, wanted.url));
  const kinds = new Map(fitting.map((product) => [itemOf(product) ?? product.url, product]));
  const [product] = kinds.values();
  if (product === undefined) throw orderErrors.product_not_found(explain(titled, branded, wanted));
  if (kinds.size > 1) {
    throw orderErrors.product_ambiguous(undefined, { members: { productUrls: fitting.map(({ url }) => url) } });
  }
  const itemId = itemOf(product);
  if (itemId === undefined) throw orderErrors.product_not_found('The shop does not say what it calls this product.');
  if (product.available === false) throw orderErrors.sold_out();
  const { title, brand, url, price } = product;
  return { title, brand, url, itemId, price };
}

function itemOf({ variantId, id }: Product): string | undefined {
  return variantId ?? id;
}

function explain(titled: readonly Product[], branded: readonly Product[], wanted: WantedProduct): string | undefined {
  if (branded.length > 0) return 'The product of this title and brand is at another address than productUrl.';
  const brands = [...new Set(titled.map(({ brand }) => brand))].slice(0, 4);
  if (brands.length === 0 || wanted.brand === undefined) return undefined;
  return `The shop has a product of this title, but by ${brands.join(', ')}.`;
}

/** Capitals, spaces and the kind of an apostrophe are no difference. */
function alike(left: string, right: string): boolean {
  return plain(left) === plain(right);
}

function plain(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[‘’ʼ`´]/g, "'")
    .replace(/[“”„]/g, '"')
    .replace(/[‐-―]/g, '-')
    .replace(/\s+/g, ' ')
    .trim();
}

function sameAddress(left: string, right: string): boolean {
  const [one, other] = [parseUrl(left), parseUrl(right)];
  return one !== undefined && other !== undefined && one.host === other.host && one.pathname === other.pathname;
}
