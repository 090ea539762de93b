import type { MerchantPlatform } from '../../search/merchant-platform.ts';
import { MerchantTrouble } from '../../search/merchant-trouble.ts';
import { withBrand } from '../with-brand.ts';
import { discoverCatalog } from './discover.ts';
import { searchCatalog } from './search-catalog.ts';

/** The Universal Commerce Protocol, which Shopify's shops speak as well. */
export const ucpPlatform: MerchantPlatform = {
  name: 'ucp',
  // Shopify's terms for its catalog, and who else is behind an endpoint is not to be seen.
  keepsNothing: true,
  async *search(site, query) {
    let last: unknown;
    for (const service of await discoverCatalog(site)) {
      try {
        const products = await searchCatalog(site, service, query);
        for (const product of products) yield* withBrand(site, query, product);
        return;
      } catch (error) {
        // A shop whose one transport does not work may have another that does.
        if (!(error instanceof MerchantTrouble) || error.kind !== 'not_offered') throw error;
        last = error;
      }
    }
    throw last;
  },
};
