import type { Product } from '../search/product.ts';
import type { MerchantSearch } from '../search/search-merchant.ts';
import type { Website } from '../search/website.ts';
import { chooseProduct, fitsAny, type OrderedProduct, type WantedProduct } from './choose-product.ts';

interface Shopping {
  readonly website: Website;
  readonly wanted: WantedProduct;
  readonly platform?: string;
}

const longestQuery = 200;

/** Searches the shop now and chooses the product and variant. */
export async function productOrRefuse(merchants: MerchantSearch, shopping: Shopping): Promise<OrderedProduct> {
  const { wanted } = shopping;
  const found = await searchFor(merchants, shopping, wanted.title);
  if (!fitsAny(found, wanted)) {
    // Shops match every word against product titles, which may not contain the variant's name.
    const shorter = withoutLastWord(wanted.title);
    const more = shorter === undefined ? [] : await searchFor(merchants, shopping, shorter);
    const known = new Set(found.map(nameOf));
    found.push(...more.filter((product) => !known.has(nameOf(product))));
  }
  return chooseProduct(found, wanted);
}

async function searchFor(merchants: MerchantSearch, { website, platform }: Shopping, words: string) {
  const found: Product[] = [];
  const query = words.slice(0, longestQuery);
  const search = merchants.search(website, query, new AbortController().signal, { onlyBy: platform });
  for await (const product of search) found.push(product);
  return found;
}

function nameOf({ id, url }: Product): string {
  return id ?? url;
}

function withoutLastWord(title: string): string | undefined {
  const words = title.trim().split(/\s+/);
  return words.length < 2 ? undefined : words.slice(0, -1).join(' ');
}
