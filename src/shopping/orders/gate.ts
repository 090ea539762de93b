import type { Queryable, Transaction } from '../../kernel/db/database.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';
import { findMerchant, holdMerchant, unsealOrdersSecret } from '../merchants/find-merchant.ts';
import type { Website } from '../search/website.ts';
import type { CheckoutPlace, ShopCheckouts } from './checkout.ts';
import { orderErrors } from './errors.ts';
import type { OrderChannel } from './order.ts';

/** How a shop takes orders from this service. */
export type Gate =
  | { readonly kind: 'ucp'; readonly place: CheckoutPlace; readonly merchantId: bigint | null }
  | { readonly kind: 'webhook'; readonly url: string; readonly merchantId: bigint | null };

/**
 * A shop takes orders if its own profile lists a checkout and our payment handler, or if it is in the registry and has given us
 * an orders URL. A domain that the operator disabled takes none, whatever its site says.
 */
export async function gateOrRefuse(
  { db, checkouts, secrets }: { readonly db: Queryable; readonly checkouts: ShopCheckouts; readonly secrets: Secrets },
  website: Website,
): Promise<Gate> {
  const merchant = await findMerchant(db, website.name);
  if (merchant?.state === 'disabled') throw orderErrors.merchant_not_gated();
  const merchantId = merchant?.accountId ?? null;
  const ordersUrl = merchant?.ordersUrl ?? null;
  // Without a secret the order cannot be signed, so it cannot be sent.
  if (ordersUrl !== null && (await unsealOrdersSecret(db, secrets, website.name)) !== undefined) {
    return { kind: 'webhook', url: ordersUrl, merchantId };
  }
  const place = await checkouts.find(website);
  if (place === undefined) throw orderErrors.merchant_not_gated();
  return { kind: 'ucp', place, merchantId };
}

/**
 * Checks again in the commit that opens the order, because the domain can change owners while the shop is asked for its price.
 */
export async function requireSameMerchant(
  tx: Transaction,
  { domain, merchantId, channel }: { domain: string; merchantId: bigint | null; channel: OrderChannel },
): Promise<void> {
  const merchant = await holdMerchant(tx, domain);
  if (merchant?.state === 'disabled') throw orderErrors.merchant_not_gated();
  const isSame =
    (merchant?.accountId ?? null) === merchantId && (channel.kind === 'ucp' || merchant?.ordersUrl === channel.url);
  if (!isSame) throw orderErrors.merchant_changed();
}
