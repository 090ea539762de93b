import type { AddressParts } from '../../accounts/addresses/address-parts.ts';
import { orRefuse } from '../../accounts/addresses/or-refuse.ts';
import { readShippingAddress, type ShippingAddress } from '../../accounts/addresses/shipping-address.ts';
import { readProfile } from '../../accounts/profile.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import { orderErrors } from './errors.ts';

export type GivenAddress = string | AddressParts;

/** The address of the request or, without one, of the account. Without a name it is for the account's owner. */
export async function addressOrRefuse(
  db: Queryable,
  accountId: bigint,
  given: GivenAddress | undefined,
): Promise<ShippingAddress> {
  const { name, shippingAddress: saved } = await readProfile(db, accountId);
  const address = given ?? saved;
  if (address === null) throw orderErrors.shipping_address_required();
  return orRefuse(readShippingAddress(address, { name }));
}
