/**
 * Lets only so many orders of one shop be asked about at once, of all that this process could ask about: a shop that stays silent
 * keeps up its own orders, and nobody else's.
 */
export interface ShopTurns {
  /** Undefined when the shop has all its turns: then the order is woken as soon as one of them ends. */
  take<Result>(
    turn: { readonly domain: string; readonly id: string },
    work: () => Promise<Result>,
  ): Promise<Result | undefined>;
}

interface BusyShop {
  turns: number;
  /** In the order in which they came. Whatever has been decided since is woken in vain. */
  readonly waiting: Set<string>;
}

export function createShopTurns({ most, wake }: { readonly most: number; wake(id: string): Promise<void> }): ShopTurns {
  const shops = new Map<string, BusyShop>();

  async function end(domain: string, shop: BusyShop): Promise<void> {
    shop.turns--;
    const [next] = shop.waiting;
    if (next !== undefined) {
      shop.waiting.delete(next);
      await wake(next);
    } else if (shop.turns === 0) shops.delete(domain);
  }

  return {
    async take({ domain, id }, work) {
      const shop = shops.get(domain) ?? { turns: 0, waiting: new Set() };
      if (shop.turns >= most) {
        shop.waiting.add(id);
        return undefined;
      }
      shops.set(domain, shop);
      shop.turns++;
      shop.waiting.delete(id);
      return work().finally(() => end(domain, shop));
    },
  };
}
