import { addressErrors } from '../errors.ts';
import type { AddressParts } from './address-parts.ts';
import { findCountry, fold } from './countries.ts';
import { needsPostalCode, readPostalCode } from './postal-codes.ts';
import { type AddressText, readAddressText } from './read-address-text.ts';
import { findRegion } from './regions.ts';

/** Returns the address, or throws the error about what is missing or too long. Used for saving an address and for shipping. */
export function requireAddress(read: ReadAddress): ShippingAddress {
  if (read.address !== undefined) return read.address;
  const { missing, understood, tooLong } = read;
  if (tooLong.length > 0) {
    const members = { tooLong, longest: longestPart, understood };
    throw addressErrors.shipping_address_too_long(describeTooLong(tooLong), { members });
  }
  throw addressErrors.shipping_address_incomplete(describeMissing(read), { members: { missing, understood } });
}

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
  const list = new Intl.ListFormat('en', { type: 'conjunction' }).format(missing.map((part) => `a ${labels[part]}`));
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

/** Everything that a merchant needs to ship a parcel. */
export interface ShippingAddress {
  readonly name: string;
  readonly street: string;
  readonly extra?: string;
  /** In the country's format; missing where the country has none. */
  readonly postalCode?: string;
  readonly city: string;
  /** The code of a state or province where we know it, otherwise its name. */
  readonly region?: string;
  /** ISO 3166-1 alpha-2. */
  readonly country: string;
  readonly phone?: string;
}

const needed = ['name', 'street', 'postalCode', 'city', 'country'] as const;
type NeededPart = (typeof needed)[number];

export type ReadAddress =
  | { readonly address: ShippingAddress; readonly missing?: never }
  | {
      readonly missing: readonly NeededPart[];
      readonly understood: AddressParts;
      /** A first line that may be the recipient or part of the address. */
      readonly unclear: string | undefined;
      /** Parts that exceed the limit. They are never truncated or dropped. */
      readonly tooLong: readonly (keyof AddressParts)[];
      readonly address?: never;
    };

/** Characters per part. */
const longestPart = 200;

/**
 * Reads an address from text or parts. Unreadable parts are reported, never guessed. If it has no name, the owner's
 * name is used.
 */
export function readShippingAddress(given: string | AddressParts, owner: { readonly name?: string } = {}): ReadAddress {
  const { unclear, ...parts }: AddressText =
    typeof given === 'string' ? readAddressText(given, clean(owner.name)) : given;
  const country = findCountry(clean(parts.country) ?? '');
  const region = clean(parts.region);
  const read = {
    name: isTooLong(parts.name) || unclear !== undefined ? clean(parts.name) : (clean(parts.name) ?? clean(owner.name)),
    street: clean(parts.street),
    extra: clean(parts.extra),
    postalCode: readCode(clean(parts.postalCode), country),
    city: clean(parts.city),
    region: region === undefined ? undefined : (findRegion(region, country ?? '') ?? region),
    country,
    phone: clean(parts.phone),
  };
  const missing = needed.filter(
    (part) => read[part] === undefined && (part !== 'postalCode' || country === undefined || needsPostalCode(country)),
  );
  const present = Object.fromEntries(Object.entries(read).filter(([, value]) => value !== undefined));
  const tooLong = (Object.keys(read) as (keyof AddressParts)[]).filter((part) => isTooLong(parts[part]));
  if (missing.length > 0 || tooLong.length > 0) return { missing, understood: present, unclear, tooLong };
  return { address: present as unknown as ShippingAddress };
}

/** One visible line. Undefined when it is empty or too long. */
function clean(text: string | undefined): string | undefined {
  const line = toLine(text);
  return line.length <= longestPart && /[\p{L}\p{N}]/u.test(line) ? line : undefined;
}

function isTooLong(text: string | undefined): boolean {
  return toLine(text).length > longestPart;
}

function toLine(text = ''): string {
  return text
    .normalize('NFC')
    .replace(/[\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Default_Ignorable_Code_Point}\u2800]/gu, '')
    .replace(/[\p{Cc}\p{Z}]+/gu, ' ')
    .trim();
}

/** Where a code is required it must match the country's format; elsewhere it is kept as it is. */
function readCode(code: string | undefined, country: string | undefined): string | undefined {
  if (code === undefined || country === undefined) return code;
  return readPostalCode(code, country) ?? (needsPostalCode(country) ? undefined : code);
}

/**
 * Returns the same text for the same person and place, whatever the case, accents, spaces and punctuation. The region
 * is ignored if there is a postal code, and so is the phone number.
 */
export function normalizeAddress({ name, street, extra, postalCode, city, region, country }: ShippingAddress): string {
  const where = postalCode === undefined ? `${region ?? ''} ${city}` : `${postalCode} ${city}`;
  return [name, `${street} ${extra ?? ''}`, where, country].map(fold).join('|');
}
