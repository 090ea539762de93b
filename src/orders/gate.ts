import type { Queryable } from '../db/database.ts';
import { findMerchant, unsealOrdersSecret } from '../merchants/find-merchant.ts';
import type { Secrets } from '../secrets.ts';
import type { Website } from '../shopping/website.ts';
import type { CheckoutPlace, ShopCheckouts } from './checkout.ts';
import { orderErrors } from './errors.ts';

/** How a shop takes orders from here. */
export type Gate =
  | { readonly kind: 'ucp'; readonly place: CheckoutPlace; readonly sellerId: bigint | null }
  | { readonly kind: 'webhook'; readonly url: string; readonly sellerId: bigint | null };

/**
 * Open for a shop that lists a checkout and our way of paying on its own site, and for one that the registry knows and that has
 * given us an address for orders. What the operator has closed stays closed, whatever the site says.
 */
export async function gateOrRefuse(
  { db, checkouts, secrets }: { readonly db: Queryable; readonly checkouts: ShopCheckouts; readonly secrets: Secrets },
  website: Website,
): Promise<Gate> {
  const merchant = await findMerchant(db, website.name);
  if (merchant?.state === 'disabled') throw orderErrors.merchant_not_gated();
  const sellerId = merchant?.accountId ?? null;
  const ordersUrl = merchant?.ordersUrl ?? null;
  // Without a secret nothing can be signed, and so nothing can be sent.
  if (ordersUrl !== null && (await unsealOrdersSecret(db, secrets, website.name)) !== undefined) {
    return { kind: 'webhook', url: ordersUrl, sellerId };
  }
  const place = await checkouts.find(website);
  if (place === undefined) throw orderErrors.merchant_not_gated();
  return { kind: 'ucp', place, sellerId };
}
