import { readProfile } from '../accounts/profile.ts';
import type { Queryable } from '../db/database.ts';
import type { AddressParts } from './address-parts.ts';
import { orderErrors } from './errors.ts';
import { describeMissing, readShippingAddress, type ShippingAddress } from './shipping-address.ts';

export type GivenAddress = string | AddressParts;

/** The one that was given, for this order alone, or the one on file. */
export async function addressOrRefuse(
  db: Queryable,
  accountId: bigint,
  given: GivenAddress | undefined,
): Promise<ShippingAddress> {
  const text = given ?? (await readProfile(db, accountId)).shippingAddress;
  if (text === null) throw orderErrors.shipping_address_required();
  const { address, missing } = readShippingAddress(text);
  if (address !== undefined) return address;
  throw orderErrors.shipping_address_incomplete(describeMissing(missing), { members: { missing } });
}
