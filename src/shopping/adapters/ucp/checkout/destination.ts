import type { ShippingAddress } from '../../../../accounts/addresses/shipping-address.ts';
import type { Buyer } from '../../../orders/checkout.ts';
import type { ShopMessage } from './read-session.ts';

/** The first word and the rest: shops ask for two names, and people have any number. */
function namesOf(name: string) {
  const [first = '', ...others] = name.split(/\s+/);
  return { first_name: first, ...(others.length > 0 && { last_name: others.join(' ') }) };
}

/** The buyer in the words of the protocol, which are the same in both versions. */
export function toBuyer({ name, email, phone }: Buyer) {
  return {
    ...namesOf(name),
    ...(email !== undefined && { email }),
    ...(phone !== undefined && { phone_number: phone }),
  };
}

/** An address in the words of the protocol. */
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

/** What we call the parts that a shop may say are missing. */
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

/** The parts of the address that the shop cannot do without, by the places that its messages point at. */
export function missingOfAddress(messages: readonly ShopMessage[]): string[] {
  const named = messages
    .filter(({ type }) => type === 'error')
    .flatMap(({ path, code }) => {
      const part = path.split(/[^a-z_]/).at(-1) ?? '';
      return code === 'address_undeliverable' ? [] : (ours.get(part) ?? []);
    });
  return [...new Set(named)];
}

/** Whether the shop says that it misses the buyer's email. */
export function missesEmail(messages: readonly ShopMessage[]): boolean {
  return messages.some(({ type, path }) => type === 'error' && /\bbuyer\.email$/.test(path));
}
