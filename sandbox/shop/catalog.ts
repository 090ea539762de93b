import { type CatalogRow, catalogRows, type ProductExtras } from './catalog-rows.ts';

export function priceText({ cents, currency }: Pick<ShopProduct, 'cents' | 'currency'>): string {
  return `${currency === 'USD' ? '$' : '€'}${(cents / 100).toFixed(2)}`;
}

export const productPath = ({ slug }: Pick<ShopProduct, 'slug'>) => `/products/${slug}`;
export const picturePath = ({ slug }: Pick<ShopProduct, 'slug'>) => `/pictures/${slug}.png`;

/** A product of the demo shop. Prices include tax. */
export interface ShopProduct extends CatalogRow, ProductExtras {
  readonly id: number;
  readonly slug: string;
}

export const catalog: readonly ShopProduct[] = catalogRows.map((row, index) => ({
  id: 101 + index,
  slug: row.title
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, ''),
  currency: 'USD',
  shippingCents: 0,
  inStock: true,
  sizes: [],
  ...row,
}));

/** One size of a product, or the product itself if it has none. */
export interface ShopVariant {
  /** The checkout's id. */
  readonly itemId: string;
  readonly size: string | undefined;
  readonly title: string;
  readonly cents: number;
}

export function variantsOf({ id, title, cents, sizes }: ShopProduct): readonly ShopVariant[] {
  if (sizes.length === 0) return [{ itemId: `${id}-1`, size: undefined, title, cents }];
  return sizes.map(({ label, moreCents }, index) => ({
    itemId: `${id}-${index + 1}`,
    size: label,
    title: `${title}, ${label}`,
    cents: cents + moreCents,
  }));
}

/** Stop words. */
const common = new Set(
  'a an and are as at by for from in into is it of on or our that the this to with you your'.split(' '),
);
const mostWords = 20;

/** Products that match at least half of the words, with title matches first. */
export function findInCatalog(products: readonly ShopProduct[], query: string): readonly ShopProduct[] {
  const asked = [...new Set(wordsOf(query))].filter((word) => !common.has(word)).slice(0, mostWords);
  const scored = products.map((product) => {
    const title = wordsOf(product.title);
    const words = asked.filter((word) => word.length > 2 || title.includes(word));
    const scores = words.map((word) => scoreOf(product, word)).filter((score) => score > 0);
    const fits = scores.length > 0 && scores.length * 2 >= words.length;
    return { product, score: fits ? scores.reduce((sum, score) => sum + score, 0) : 0 };
  });
  return scored
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .map(({ product }) => product);
}

/** A prefix is enough, except in the description. */
function scoreOf({ title, maker, category, description }: ShopProduct, word: string): number {
  const begins = (text: string) => wordsOf(text).some((one) => one.startsWith(stemOf(word)));
  if (begins(title)) return 3;
  return begins(`${maker} ${category}`) || wordsOf(description).map(stemOf).includes(stemOf(word)) ? 1 : 0;
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

function stemOf(word: string): string {
  return word.length > 3 && word.endsWith('s') ? word.slice(0, -1) : word;
}
