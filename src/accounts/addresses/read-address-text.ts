import type { AddressParts } from './address-parts.ts';
import { findCountry, isNameOfSeveral } from './countries.ts';
import { findCountryBeforeCode } from './country-before-code.ts';
import { inferCountry } from './infer-country.ts';
import type { Place } from './place.ts';
import { findPostalCode, needsPostalCode } from './postal-codes.ts';
import { hasNumberBeforeStreet, isProvinceSomewhere, mayBeProvince } from './provinces.ts';
import { takePlace } from './read-place.ts';
import { joinTitles, type Recipient, readRecipient } from './read-recipient.ts';
import { isZipOfState, mayBeRegion } from './regions.ts';

/** The limit of `PATCH /account`. */
const longestText = 500;
/** City states: the country is also the city. */
const cities: Readonly<Record<string, string>> = {
  GI: 'Gibraltar',
  HK: 'Hong Kong',
  MC: 'Monaco',
  MO: 'Macao',
  SG: 'Singapore',
  VA: 'Vatican City',
};

export type AddressText = AddressParts & Pick<Recipient, 'unclear'>;

/**
 * Reads an address as people write it: name, street, place and country, separated by commas or lines. It reads from
 * the end, because the country determines the postal code and the code shows where the city is. Uncertain parts stay
 * missing: a parcel must never go to a guess. A name equal to the owner's is always a name.
 */
export function readAddressText(text: string, owner: string | undefined): AddressText {
  if (text.length > longestText) return {};
  const { pieces, phone } = takePhone(joinTitles(splitText(text)));
  const { country, rest, place } = readEnd(pieces);
  const { before, city, region, postalCode } = place ?? takePlaceOfNowhere(rest);
  return {
    ...readRecipient(before, owner),
    city: city ?? (country === undefined ? undefined : cities[country]),
    region,
    postalCode,
    country,
    phone,
  };
}

/** Labels that forms put before a part, and quotes or bullets around it. */
const label =
  /^(?:ship(?:ping)? (?:to|address)|deliver to|address(?: line)?(?: \d)?|to|name|recipient|street|city|town|state|province|region|zip(?: code)?|post(?:al)? ?code|country) ?: ?/i;
const junk = /^[\s"'“”*•|>–—-]+|[\s"'“”*•|<:!–—-]+$/gu;

function splitText(text: string): string[] {
  return text
    .normalize('NFC')
    .replace(/[\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Default_Ignorable_Code_Point}\u2800]/gu, '')
    .split(/[\n\r\u2028\u2029,;，、|]/u)
    .map((piece) =>
      piece
        .replace(/[\p{Cc}\p{Z}]+/gu, ' ')
        .replace(junk, '')
        .replace(label, '')
        .trim(),
    )
    .filter((piece) => /[\p{L}\p{N}]/u.test(piece) && !/^(?:e-?mail:? ?)?\S+@\S+\.\S+$/i.test(piece));
}

const phoneLabel = /^(?:tel(?:ephone)?|phone|ph|mobile|mob|cell)\b[.:]* ?/i;

/** A number after a plus or a label, or in a format that only American phone numbers have. */
function isPhone(piece: string): boolean {
  const number = piece.replace(phoneLabel, '');
  if (/^\(?\d{3}\)?[ .-]\d{3}[.-]\d{4}$/.test(number)) return true;
  return number === piece ? /^\+[\d ()./-]{7,24}$/.test(piece) : /^\+?[\d ()./-]{7,24}$/.test(number);
}

function takePhone(all: readonly string[]): { pieces: readonly string[]; phone: string | undefined } {
  const phone = all.find(isPhone)?.replace(phoneLabel, '');
  return { pieces: all.filter((piece) => !isPhone(piece)), phone };
}

interface End {
  readonly country: string | undefined;
  readonly rest: readonly string[];
  /** Read with the rules of that country. */
  readonly place: Place | undefined;
}

function readEnd(pieces: readonly string[]): End {
  return readNamed(pieces) ?? readUnnamed(pieces);
}

/** The country is named at the end and is not a state of another country. */
function readNamed(pieces: readonly string[]): End | undefined {
  const last = pieces.at(-1) ?? '';
  const alone = findCountry(last);
  if (alone !== undefined) {
    const rest = pieces.slice(0, -1);
    if (!isCertain(last, alone, rest)) return undefined;
    const all = alone === 'GB' ? withoutNation(rest) : rest;
    return { country: alone, rest: all, place: takePlace(all, alone) };
  }
  const country = findCountryBehind(pieces) ?? findCityAndCountry(pieces) ?? findCountryBeforeCode(pieces);
  return country === undefined ? undefined : { ...country, place: takePlace(country.rest, country.country) };
}

/** "England, SW1A 1AA, UK" and "SW1A 1AA, England, UK": England is neither a city nor a county. */
function withoutNation(pieces: readonly string[]): readonly string[] {
  if (findCountry(pieces.at(-1) ?? '') === 'GB') return pieces.slice(0, -1);
  const named = findCountryBeforeCode(pieces);
  return named?.country === 'GB' ? named.rest : pieces;
}

/** Region and code may identify the country. */
function readUnnamed(pieces: readonly string[]): End {
  const inferred = inferCountry(pieces);
  if (inferred !== undefined) return { ...inferred, rest: pieces };
  const last = pieces.at(-1) ?? '';
  const isUncertain = findCountry(last) !== undefined || isNameOfSeveral(last);
  return { country: undefined, rest: isUncertain ? pieces.slice(0, -1) : pieces, place: undefined };
}

/**
 * "Atlanta, GA" is not in Gabon, "19801 Wilmington, DE" not in Germany and "05100 Terni, TR" not in Turkey. Only a
 * postal code of the country that the state or province does not have makes it certain.
 */
function isCertain(name: string, country: string, rest: readonly string[]): boolean {
  const letters = name.replace(/[^\p{L} ]/gu, '').trim();
  const { postalCode } = takePlace(rest, country);
  if (mayBeRegion(letters) && (postalCode === undefined || isZipOfState(postalCode, country))) return false;
  if (letters.length !== 2) return true;
  const italian = takePlace(rest, 'IT').postalCode;
  if (italian === undefined && postalCode === undefined)
    return needsPostalCode(country) || !isProvinceSomewhere(letters);
  return !mayBeProvince(letters, italian ?? '') || (country === 'FR' && hasNumberBeforeStreet(rest));
}

type NamedEnd = Omit<End, 'place'> & { readonly country: string };

/** "London SW1A 2AA UK", "75001 Paris France": only if the piece contains a code of that country. */
function findCountryBehind(pieces: readonly string[]): NamedEnd | undefined {
  const words = (pieces.at(-1) ?? '').split(' ');
  for (const count of [3, 2, 1]) {
    const name = words.slice(-count).join(' ');
    const piece = words.slice(0, -count).join(' ');
    const letters = name.replace(/[^\p{L} ]/gu, '').trim();
    // In lower case, "de", "la" and "in" are words.
    if (piece === '' || (letters.length <= 3 && name !== name.toUpperCase()) || mayBeRegion(letters)) continue;
    const country = findCountry(name);
    if (country === undefined || findPostalCode(piece, country) === undefined) continue;
    const rest = [...pieces.slice(0, -1), piece];
    if (isCertain(name, country, rest)) return { country, rest };
  }
  return undefined;
}

/** "Singapore 048616" is both; "VA 23218" is in Virginia, not in the Vatican. */
function findCityAndCountry(pieces: readonly string[]): NamedEnd | undefined {
  const country = Object.keys(cities).find((one) => {
    const name = findPostalCode(pieces.at(-1) ?? '', one)?.rest ?? '';
    return findCountry(name) === one && !mayBeRegion(name);
  });
  return country === undefined ? undefined : { country, rest: pieces };
}

/** Without a country, only checks whether anything could be a postal code, to report what else is missing. */
function takePlaceOfNowhere(pieces: readonly string[]): Place {
  const places = ['US', 'GB', 'CA', 'NL', 'IN', 'JP', 'PL', 'PT', 'SE', 'BR', 'AT'].map((one) =>
    takePlace(pieces, one),
  );
  return places.find(({ postalCode }) => postalCode !== undefined) ?? takePlace(pieces, '');
}
