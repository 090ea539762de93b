import type { ShippingAddress } from '../../../../accounts/addresses/shipping-address.ts';
import type { Buyer } from '../../../orders/checkout.ts';
import type { ShopMessage } from './read-session.ts';

/** UCP wants a first and a last name; the first word and the rest are the best guess. */
function namesOf(name: string) {
  const [first = '', ...others] = name.split(/\s+/);
  return { first_name: first, ...(others.length > 0 && { last_name: others.join(' ') }) };
}

export function toBuyer({ name, email, phone }: Buyer) {
  return {
    ...namesOf(name),
    ...(email !== undefined && { email }),
    ...(phone !== undefined && { phone_number: phone }),
  };
}

export function toDestination(address: ShippingAddress) {
  return {
    ...namesOf(address.name),
    street_address: address.street,
    ...(address.extra !== undefined && { extended_address: address.extra }),
    address_locality: address.city,
    ...(address.region !== undefined && { address_region: address.region }),
    ...(address.postalCode !== undefined && { postal_code: address.postalCode }),
    address_country: address.country,
    ...(address.phone !== undefined && { phone_number: address.phone }),
  };
}

/** Our names for UCP's address fields. */
const ours: ReadonlyMap<string, string> = new Map([
  ['first_name', 'name'],
  ['last_name', 'name'],
  ['street_address', 'street'],
  ['extended_address', 'extra'],
  ['address_locality', 'city'],
  ['address_region', 'region'],
  ['postal_code', 'postalCode'],
  ['address_country', 'country'],
  ['phone_number', 'phone'],
]);

/** The address fields that the shop's error messages point at. */
export function missingOfAddress(messages: readonly ShopMessage[]): string[] {
  const named = messages
    .filter(({ type }) => type === 'error')
    .flatMap(({ path, code }) => {
      const part = path.split(/[^a-z_]/).at(-1) ?? '';
      return code === 'address_undeliverable' ? [] : (ours.get(part) ?? []);
    });
  return [...new Set(named)];
}

export function missesEmail(messages: readonly ShopMessage[]): boolean {
  return messages.some(({ type, path }) => type === 'error' && /\bbuyer\.email$/.test(path));
}
