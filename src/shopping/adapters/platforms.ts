import type { MerchantPlatform } from '../search/merchant-platform.ts';
import { jsonLdPlatform } from './json-ld-platform.ts';
import { shopifyPlatform } from './shopify-platform.ts';
import { ucpPlatform } from './ucp/ucp-platform.ts';
import { withBrand } from './with-brand.ts';
import { wooCommercePlatform } from './woocommerce-platform.ts';

/** All platforms, most trusted first: APIs for agents before APIs for themes and markup in pages. */
export const merchantPlatforms: readonly MerchantPlatform[] = [
  ucpPlatform,
  shopifyPlatform,
  wooCommercePlatform,
  jsonLdPlatform,
].map(withBrand);
