import { z } from 'zod';
import { type ShopBehaviour, shopBehaviour } from './behaviour.ts';
import type { Shelf } from './shelf.ts';
import type { Books } from './tables.ts';

/** Controls the shop's behaviour. Behaviour lasts until it is set again or the shop restarts; prices and stock persist. */
export interface ShopSwitches {
  readonly behaviour: ShopBehaviour;
  /** Omitted fields get their defaults, so `{}` restores normal behaviour. */
  behave(behaviour?: Partial<ShopBehaviour>): void;
  /** Throws for an unknown product. */
  setProduct(slug: string, to: { readonly cents?: number; readonly stock?: number }): Promise<void>;
}

export const productChange = z.strictObject({
  cents: z.int().min(1).max(100_000_000).optional(),
  stock: z.int().min(0).max(1_000_000).optional(),
});

export function createSwitches({ books, shelf }: { readonly books: Books; readonly shelf: Shelf }): ShopSwitches {
  let behaviour = shopBehaviour.parse({});
  return {
    get behaviour() {
      return behaviour;
    },
    behave(wanted = {}) {
      behaviour = shopBehaviour.parse(wanted);
    },
    async setProduct(slug, { cents, stock }) {
      const change = shelf.change(slug, {
        ...(cents !== undefined && { cents }),
        ...(stock !== undefined && { stock }),
      });
      if (change === undefined) throw new Error(`the demo shop has no ${slug}`);
      await books.commit([change]);
    },
  };
}
