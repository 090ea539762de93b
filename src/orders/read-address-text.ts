import type { AddressParts } from './address-parts.ts';
import { findCountry } from './countries.ts';
import { findPostalCode } from './postal-codes.ts';
import { type Place, takePlace } from './read-place.ts';
import { readRecipient } from './read-recipient.ts';
import { isZipOfState, mayBeRegion } from './regions.ts';

/** What `PATCH /account` takes. Nobody's address is longer. */
const longestText = 500;
/** Countries that are cities: who has named the one has named the other. */
const cities: Readonly<Record<string, string>> = {
  GI: 'Gibraltar',
  HK: 'Hong Kong',
  MC: 'Monaco',
  MO: 'Macao',
  SG: 'Singapore',
  VA: 'Vatican City',
};

/**
 * Reads an address as people write it: name, street, place and country, in pieces between commas or on lines. It is read
 * from its end, because a country says what its codes look like and a code where the city stands. What is not certain is
 * left out, and then missing: nobody sends a parcel to a guess.
 */
export function readAddressText(text: string): AddressParts {
  if (text.length > longestText) return {};
  const { pieces, phone } = takePhone(splitText(text));
  const { country, rest, place } = readEnd(pieces);
  const { before, city, region, postalCode } = place ?? takePlaceOfNowhere(rest);
  return {
    ...readRecipient(before),
    city: city ?? (country === undefined ? undefined : cities[country]),
    region,
    postalCode,
    country,
    phone,
  };
}

function splitText(text: string): string[] {
  return text
    .normalize('NFC')
    .replace(/[\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Default_Ignorable_Code_Point}\u2800]/gu, '')
    .split(/[\n\r\u2028\u2029,;，]/u)
    .map((piece) => piece.replace(/[\p{Cc}\p{Z}]+/gu, ' ').trim())
    .filter((piece) => /[\p{L}\p{N}]/u.test(piece));
}

function takePhone(all: readonly string[]): { pieces: readonly string[]; phone: string | undefined } {
  const isPhone = (piece: string) => /^(?:(?:tel|phone|mobile|mob)\b[.:]? ?)?\+[\d ()./-]{7,24}$/i.test(piece);
  const phone = all.find(isPhone);
  return { pieces: all.filter((piece) => !isPhone(piece)), phone: phone?.slice(phone.indexOf('+')) };
}

interface End {
  readonly country: string | undefined;
  readonly rest: readonly string[];
  /** Read by the rules of that country. */
  readonly place: Place | undefined;
}

function readEnd(pieces: readonly string[]): End {
  const last = pieces.at(-1) ?? '';
  const nowhere = { country: undefined, rest: pieces, place: undefined };
  const alone = findCountry(last);
  if (alone !== undefined) {
    const rest = pieces.slice(0, -1);
    const place = takePlace(rest, alone);
    return isCertain(last, alone, place) ? { country: alone, rest, place } : { ...nowhere, rest };
  }
  const country = findCountryBehind(last) ?? findCityAndCountry(last);
  if (country === undefined) return nowhere;
  const rest = [...pieces.slice(0, -1), country.rest];
  return { country: country.code, rest, place: takePlace(rest, country.code) };
}

/** "Atlanta, GA" is not in Gabon, and "19801 Wilmington, DE" is not in Germany: only a code of the country's own tells. */
function isCertain(text: string, country: string, { postalCode }: Place): boolean {
  return !mayBeRegion(text) || (postalCode !== undefined && !isZipOfState(postalCode, country));
}

/** "London SW1A 2AA UK", "75001 Paris France": believed only of a piece that has a code of that country. */
function findCountryBehind(piece: string): { readonly code: string; readonly rest: string } | undefined {
  const words = piece.split(' ');
  for (const count of [3, 2, 1]) {
    const name = words.slice(-count).join(' ');
    const rest = words.slice(0, -count).join(' ');
    // Written small, "de", "la" and "in" are words.
    if (rest === '' || (name.length <= 3 && name !== name.toUpperCase()) || mayBeRegion(name)) continue;
    const code = findCountry(name);
    if (code !== undefined && findPostalCode(rest, code) !== undefined) return { code, rest };
  }
  return undefined;
}

/** "Singapore 048616" is both; "VA 23218" is in Virginia, and not in the Vatican. */
function findCityAndCountry(piece: string): { readonly code: string; readonly rest: string } | undefined {
  const code = Object.keys(cities).find((one) => {
    const name = findPostalCode(piece, one)?.rest ?? '';
    return findCountry(name) === one && !mayBeRegion(name);
  });
  return code === undefined ? undefined : { code, rest: piece };
}

/** Without a country we only find out what else is missing: whether something stands there that could be a code at all. */
function takePlaceOfNowhere(pieces: readonly string[]): Place {
  const places = ['US', 'GB', 'CA', 'NL', 'IN', 'JP', 'PL', 'PT', 'SE', 'BR', 'AT'].map((one) =>
    takePlace(pieces, one),
  );
  return places.find(({ postalCode }) => postalCode !== undefined) ?? takePlace(pieces, '');
}
