import type { RequestHolder } from '../../kernel/http/holder.ts';
import { createPlaces } from '../../kernel/places/places.ts';
import type { MerchantSearch } from './search-merchant.ts';

/** Shop search with a concurrency limit per caller. */
export interface SharedSearch {
  of(holder: RequestHolder): MerchantSearch;
  /** Throws if a search that starts now would exceed a concurrency limit. */
  refuseWithoutRoom(holder: RequestHolder): void;
}

/** `inAll` bounds the memory that responses from shops can take in one process. */
const limits = { what: 'searches', inAll: 256, shares: { caller: 16, address: 64, network: 128 } };

export function limitSearch(merchants: MerchantSearch): SharedSearch {
  const places = createPlaces(limits);
  return {
    of: (holder) => ({
      async *search(website, query, signal, how = {}) {
        const place = places.enter(holder);
        try {
          yield* merchants.search(website, query, signal, { ...how, holder: holder.caller });
        } finally {
          place.leave();
        }
      },
    }),
    refuseWithoutRoom(holder) {
      places.enter(holder).leave();
    },
  };
}
