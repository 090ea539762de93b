import type { ShippingAddress } from '../../accounts/addresses/shipping-address.ts';
import { readProfile } from '../../accounts/profile.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import type { Buyer } from './checkout.ts';

/**
 * What a shop is told of the buyer: the name and the phone number of the address, which were given for this order, and the account's
 * email, where the shop confirms the order. An email that the account has not proved may be a stranger's, who would get that mail.
 */
export async function readBuyer(db: Queryable, accountId: bigint, { name, phone }: ShippingAddress): Promise<Buyer> {
  const { email, emailVerified } = await readProfile(db, accountId);
  return { name, email: emailVerified && email !== null ? email : undefined, phone: toE164(phone) };
}

/** Undefined where the country is not in it: shops are told numbers that can be dialled from anywhere, or none. */
function toE164(phone = ''): string | undefined {
  const digits = phone.replace(/\(0\)|[\s()./-]/g, '').replace(/^00/, '+');
  return /^\+[1-9]\d{6,14}$/.test(digits) ? digits : undefined;
}
