import { z } from 'zod';
import type { AddressParts } from '../../accounts/addresses/address-parts.ts';
import {
  readShippingAddress,
  requireAddress,
  type ShippingAddress,
} from '../../accounts/addresses/shipping-address.ts';
import { visibleLines } from '../../accounts/fields.ts';
import { readProfile } from '../../accounts/profile.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import { untrusted } from '../../kernel/http/untrusted.ts';
import type { Buyer } from './checkout.ts';
import { orderErrors } from './errors.ts';

const line = visibleLines(200);

/** All parts are optional here, because the address reader reports everything that is missing at once. */
export const addressParts = z
  .strictObject({
    name: line.optional(),
    street: line.optional(),
    extra: line.optional(),
    postalCode: line.optional(),
    city: line.optional(),
    region: line.optional(),
    country: line.optional().meta({ description: 'A country code such as US, or the country’s name.' }),
    phone: line.optional(),
  })
  .meta({
    description: 'Street, postal code, city and country are required. Without a name, the account name is used.',
  });

export const addressRecord = z.object({
  name: untrusted,
  street: untrusted,
  extra: untrusted.optional(),
  postalCode: untrusted.optional(),
  city: untrusted,
  region: untrusted.optional(),
  country: z.string(),
  phone: untrusted.optional(),
});

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
  return requireAddress(readShippingAddress(address, { name }));
}

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
