import type { MerchantPlatform } from '../../search/merchant-platform.ts';
import { MerchantTrouble } from '../../search/merchant-trouble.ts';
import { discoverCatalog } from './discover.ts';
import { searchCatalog } from './search-catalog.ts';

/** The Universal Commerce Protocol. Shopify shops support it too. */
export const ucpPlatform: MerchantPlatform = {
  name: 'ucp',
  // Shopify's catalog terms forbid caching, and an endpoint does not show whether Shopify runs it.
  keepsNothing: true,
  async *search(site, query) {
    let last: unknown;
    for (const service of await discoverCatalog(site)) {
      try {
        yield* await searchCatalog(site, service, query);
        return;
      } catch (error) {
        // Another transport may work.
        if (!(error instanceof MerchantTrouble) || error.kind !== 'not_offered') throw error;
        last = error;
      }
    }
    throw last;
  },
};
