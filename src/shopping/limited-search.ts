import { httpErrors } from '../http/errors.ts';
import type { MerchantSearch } from './search-merchant.ts';

/** Beyond these a process would hold too much of what strangers send it. */
const mostAtOnce = 256;

/** All who search begin no more than so many at once. */
export function limitSearch(merchants: MerchantSearch): MerchantSearch {
  let underWay = 0;
  return {
    async *search(...asked) {
      if (underWay >= mostAtOnce) {
        throw httpErrors.unavailable('Too many searches are under way. Try again in a moment.', {
          headers: { 'Retry-After': '2' },
        });
      }
      underWay++;
      try {
        yield* merchants.search(...asked);
      } finally {
        underWay--;
      }
    },
  };
}
