import { catalogRows, type ProductExtras } from './catalog-rows.ts';
import type { Drawing } from './pictures/drawing.ts';

/** A product of the demo shop. Prices include tax. */
export interface ShopProduct extends ProductExtras {
  readonly id: number;
  readonly slug: string;
  readonly title: string;
  readonly maker: string;
  readonly category: string;
  readonly cents: number;
  readonly description: string;
  readonly drawing: Drawing;
}

export const catalog: readonly ShopProduct[] = catalogRows.map(
  ([title, maker, category, cents, description, drawing, more = {}], index) => ({
    id: 101 + index,
    slug: title
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-|-$/g, ''),
    title,
    maker,
    category,
    cents,
    currency: 'USD',
    shippingCents: 0,
    inStock: true,
    sizes: [],
    description,
    drawing,
    ...more,
  }),
);

/** One of the sizes of a product, or the product itself where it has none. */
export interface ShopVariant {
  /** What a checkout calls it. */
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

/** Whatever holds a word of the query; those with more of them in the title come first. */
export function findInCatalog(products: readonly ShopProduct[], query: string): readonly ShopProduct[] {
  const words = query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  if (words.length === 0) return [];
  const scored = products.map((product) => {
    const title = product.title.toLowerCase();
    const rest = `${product.maker} ${product.category} ${product.description}`.toLowerCase();
    const score = words.reduce((sum, word) => {
      const stem = word.length > 3 ? word.replace(/s$/, '') : word;
      return sum + (title.includes(stem) ? 3 : rest.includes(stem) ? 1 : 0);
    }, 0);
    return { product, score };
  });
  return scored
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .map(({ product }) => product);
}
