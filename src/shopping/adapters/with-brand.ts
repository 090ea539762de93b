import type { MerchantPlatform } from '../search/merchant-platform.ts';
import { frontPage } from './front-page.ts';

/** Fills in the shop's name as the brand of products without one. */
export function withBrand(platform: MerchantPlatform): MerchantPlatform {
  return {
    ...platform,
    async *search(site, query) {
      for await (const candidate of platform.search(site, query)) {
        const brand = candidate.brand ?? (await frontPage(site, query).catch(() => undefined))?.shopName;
        yield { ...candidate, brand };
      }
    },
  };
}
