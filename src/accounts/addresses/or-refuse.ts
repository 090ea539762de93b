import type { AddressParts } from './address-parts.ts';
import { addressErrors } from './errors.ts';
import { longestPart, type NeededPart, type ReadAddress, type ShippingAddress } from './shipping-address.ts';

/** Returns the address, or throws the error about what is missing or too long. Used for saving an address and for shipping. */
export function orRefuse(read: ReadAddress): ShippingAddress {
  if (read.address !== undefined) return read.address;
  const { missing, understood, tooLong } = read;
  if (tooLong.length > 0) {
    const members = { tooLong, longest: longestPart, understood };
    throw addressErrors.shipping_address_too_long(describeTooLong(tooLong), { members });
  }
  throw addressErrors.shipping_address_incomplete(describeMissing(read), { members: { missing, understood } });
}

const words: Readonly<Record<NeededPart, string>> = {
  name: 'a name',
  street: 'a street',
  postalCode: 'a postal code',
  city: 'a city',
  country: 'a country',
};

const labels: Readonly<Record<keyof AddressParts, string>> = {
  name: 'name',
  street: 'street',
  extra: 'further lines',
  postalCode: 'postal code',
  city: 'city',
  region: 'region',
  country: 'country',
  phone: 'phone',
};

function describeTooLong(tooLong: readonly (keyof AddressParts)[]): string {
  const list = new Intl.ListFormat('en', { type: 'conjunction' }).format(tooLong.map((part) => labels[part]));
  return `The ${list} of the shipping address must have at most ${longestPart} characters. Nothing was saved or charged: shorten it and send the address again.`;
}

type Unread = Extract<ReadAddress, { readonly missing: readonly NeededPart[] }>;

export function describeMissing({ missing, understood, unclear }: Unread): string {
  const list = new Intl.ListFormat('en', { type: 'conjunction' }).format(missing.map((part) => words[part]));
  const sentences = [`${list.charAt(0).toUpperCase()}${list.slice(1)} cannot be read from the shipping address.`];
  const known = Object.entries(understood).map(([part, text]) => `${labels[part as keyof AddressParts]} "${text}"`);
  if (known.length > 0) sentences.push(`We understood ${known.join(', ')}.`);
  if (unclear !== undefined) {
    sentences.push(`"${unclear}" may be the recipient or a part of the address: put the recipient's name before it.`);
  }
  if (missing.includes('country')) {
    sentences.push('Write the country at the end, such as "US" or "Germany".');
  }
  sentences.push('You can also send shippingAddress to POST /shopping/buy as an object with a field for each part.');
  return sentences.join(' ');
}
