import type { RequestHolder } from '../../kernel/http/holder.ts';
import { createPlaces } from '../../kernel/places/places.ts';
import type { MerchantSearch } from './search-merchant.ts';

/** The search of other people's shops, in which each caller has a share. */
export interface SharedSearch {
  of(holder: RequestHolder): MerchantSearch;
  /** Throws the refusal of a search that would find no room now. */
  refuseWithoutRoom(holder: RequestHolder): void;
}

/** Beyond `inAll` a process would hold too much of what strangers send it. */
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
