import type { MerchantPlatform } from '../search/merchant-platform.ts';
import { jsonLdPlatform } from './json-ld-platform.ts';
import { shopifyPlatform } from './shopify-platform.ts';
import { ucpPlatform } from './ucp/ucp-platform.ts';
import { wooCommercePlatform } from './woocommerce-platform.ts';

/** Every way in which we can search a shop. What is made for agents is believed before what is made for themes and pages. */
export const merchantPlatforms: readonly MerchantPlatform[] = [
  ucpPlatform,
  shopifyPlatform,
  wooCommercePlatform,
  jsonLdPlatform,
];
