import type { ShippingAddress } from '../../accounts/addresses/shipping-address.ts';
import { readProfile } from '../../accounts/profile.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import type { Buyer } from './checkout.ts';

/**
 * What the shop learns about the buyer: name and phone from the address of this order, and the account's verified email for the
 * confirmation. An unverified email may belong to a stranger.
 */
export async function readBuyer(db: Queryable, accountId: bigint, { name, phone }: ShippingAddress): Promise<Buyer> {
  const { email, emailVerified } = await readProfile(db, accountId);
  return { name, email: emailVerified && email !== null ? email : undefined, phone: toE164(phone) };
}

/** Shops get only numbers in international format. */
function toE164(phone = ''): string | undefined {
  const digits = phone.replace(/\(0\)|[\s()./-]/g, '').replace(/^00/, '+');
  return /^\+[1-9]\d{6,14}$/.test(digits) ? digits : undefined;
}
