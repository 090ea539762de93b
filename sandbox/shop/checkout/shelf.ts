import { type ShopProduct, variantsOf } from '../catalog.ts';
import type { BookChange, Books, SessionLine } from './session.ts';

export type ProductChange = Partial<Record<'cents' | 'stock', number | undefined>>;
export type Shelf = ReturnType<typeof createShelf>;

/** Enough that a sandbox does not run out. */
const plenty = 1_000_000;

/** Current products and their stock. */
export function createShelf(catalog: readonly ShopProduct[], books: Books) {
  const bySlug = new Map(catalog.map((product) => [product.slug, product]));
  const byItemId = new Map(
    catalog.flatMap((product) => variantsOf(product).map(({ itemId }) => [itemId, product.slug])),
  );

  function asItIs(product: ShopProduct): ShopProduct {
    const kept = books.get('product', product.slug);
    return kept === undefined ? product : { ...product, cents: kept.cents, inStock: kept.stock > 0 };
  }

  function stockOf(slug: string): number {
    return books.get('product', slug)?.stock ?? (bySlug.get(slug)?.inStock === true ? plenty : 0);
  }

  /** Undefined for an unknown product. */
  function change(slug: string, { cents, stock }: ProductChange): BookChange | undefined {
    const product = bySlug.get(slug);
    if (product === undefined) return undefined;
    return ['product', slug, { cents: cents ?? asItIs(product).cents, stock: stock ?? stockOf(slug) }];
  }

  /** Several lines may be for one product. */
  function move(lines: readonly SessionLine[], sign: 1 | -1): readonly BookChange[] {
    const stocks = new Map<string, number>();
    for (const { slug, quantity } of lines) stocks.set(slug, (stocks.get(slug) ?? stockOf(slug)) + sign * quantity);
    return [...stocks].map(([slug, stock]) => change(slug, { stock })).filter((one) => one !== undefined);
  }

  return {
    products: () => catalog.map(asItIs),
    /** By the id of the variant; the result has its title and price. */
    find(itemId: string): ShopProduct | undefined {
      const product = bySlug.get(byItemId.get(itemId) ?? '');
      const now = product && asItIs(product);
      const variant = now && variantsOf(now).find((one) => one.itemId === itemId);
      return variant && { ...now, title: variant.title, cents: variant.cents };
    },
    stockOf,
    /** The changes that reserve the stock; undefined if there is not enough. */
    take(lines: readonly SessionLine[]): readonly BookChange[] | undefined {
      const changes = move(lines, -1);
      return changes.some(([table, , value]) => table === 'product' && (value?.stock ?? 0) < 0) ? undefined : changes;
    },
    putBack: (lines: readonly SessionLine[]) => move(lines, 1),
    change,
  };
}
