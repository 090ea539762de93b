import type { AddressParts, Place } from './address-parts.ts';
import { findCountry, isNameOfSeveral } from './countries.ts';
import { findPostalCode, needsPostalCode, readPostalCode } from './postal-codes.ts';
import { takePlace } from './read-place.ts';
import { joinTitles, type Recipient, readRecipient } from './read-recipient.ts';
import {
  hasNumberBeforeStreet,
  isCodeOfRegion,
  isInOrder,
  isProvinceSomewhere,
  isZipOfState,
  mayBeElsewhere,
  mayBeProvince,
  mayBeRegion,
} from './regions.ts';

/** Royal Mail's areas, and those of the islands and Gibraltar, which use the same format. */
const british = new RegExp(
  `^(?:AB|AL|B|BA|BB|BD|BH|BL|BN|BR|BS|BT|CA|CB|CF|CH|CM|CO|CR|CT|CV|CW|DA|DD|DE|DG|DH|DL|DN|DT|DY|E|EC|EH|EN|EX|FK|FY|G|GL|GU|HA|HD|
    HG|HP|HR|HS|HU|HX|IG|IP|IV|KA|KT|KW|KY|L|LA|LD|LE|LL|LN|LS|LU|M|ME|MK|ML|N|NE|NG|NN|NP|NR|NW|OL|OX|PA|PE|PH|PL|PO|PR|RG|RH|
    RM|S|SA|SE|SG|SK|SL|SM|SN|SO|SP|SR|SS|ST|SW|SY|TA|TD|TF|TN|TQ|TR|TS|TW|UB|W|WA|WC|WD|WF|WN|WR|WS|WV|YO|ZE)\\d`.replace(
    /\s/g,
    '',
  ),
);
const eircode = /^[AC-FHKNPRTV-Y]\d[\dW] (?=.*\d)[AC-FHKNPRTV-Y\d]{4}$/;

/** What identifies a country without its name: a code format that no other country uses, or a code that belongs to the region. */
const signs: Readonly<Record<string, (place: Place, text: string, pieces: readonly string[]) => boolean>> = {
  US: (place, _, pieces) => isRegionWithCode(place, pieces, 'US') && !mayBeElsewhere(place),
  AU: (place, _, pieces) => isRegionWithCode(place, pieces, 'AU'),
  IN: ({ region, postalCode = '' }) => region !== undefined && /^[1-8]/.test(postalCode),
  CA: ({ postalCode = '' }) => /^[ABCEGHJ-NPRSTVXY]\d/.test(postalCode),
  GB: ({ postalCode = '' }) => british.test(postalCode),
  GG: ({ postalCode = '' }) => postalCode.startsWith('GY'),
  IM: ({ postalCode = '' }) => postalCode.startsWith('IM'),
  JE: ({ postalCode = '' }) => postalCode.startsWith('JE'),
  GI: ({ postalCode = '' }) => postalCode.startsWith('GX11'),
  IE: ({ postalCode = '' }) => eircode.test(postalCode),
  // "2400 Le Locle" is in Switzerland, and "Perth 6000 WA" in Australia.
  NL: (_, text) => /(?:^|, )[1-9]\d{3} ?(?!S[ADS])[A-Z]{2} (?=\p{L}*\p{Ll})[^,]+$/u.test(text),
  BR: (_, text) => /\b\d{5}-\d{3}(?!\d)/.test(text),
  PL: (_, text) => /(?:^|, )\d\d-\d{3} \p{L}[^,]+$/u.test(text),
  PT: (_, text) => /(?:^|, )\d{4}-\d{3} \p{L}[^,]+$/u.test(text),
};

function isRegionWithCode(
  { region = '', postalCode = '' }: Place,
  pieces: readonly string[],
  country: string,
): boolean {
  return isCodeOfRegion(postalCode, region, country) && isInOrder(region, pieces, country);
}

/** The only country that this place can be in. Undefined when several match: sixty countries use five digits. */
function inferCountry(pieces: readonly string[]) {
  const text = pieces.join(', ');
  const possible = Object.entries(signs).flatMap(([country, isThere]) => {
    const place = takePlace(pieces, country);
    const isComplete = place.city !== undefined && place.postalCode !== undefined;
    return isComplete && isThere(place, text, pieces) ? [{ country, place }] : [];
  });
  const [only, ...others] = possible;
  return others.length === 0 ? only : undefined;
}

/** "London, UK SW1A 1AA", "Toronto, Canada, M5V 2T6": the country is between city and code. */
function findCountryBeforeCode(pieces: readonly string[]): NamedEnd | undefined {
  const words = (pieces.at(-1) ?? '').split(' ');
  for (const length of [2, 1]) {
    const code = words.slice(-length).join(' ');
    const ahead = words.slice(0, -length);
    const found = ahead.length > 0 ? takeCountry(ahead, code) : takeCountry((pieces.at(-2) ?? '').split(' '), code);
    if (found === undefined) continue;
    const before = pieces.slice(0, ahead.length > 0 ? -1 : -2);
    const rest = [...before, `${found.ahead} ${code}`.trim()];
    // Without a city before it, the word is itself a city, such as a village called Peru.
    if (takePlace(rest, found.country).city !== undefined) return { country: found.country, rest };
  }
  return undefined;
}

function takeCountry(words: readonly string[], code: string): { country: string; ahead: string } | undefined {
  const hasLetters = /\p{L}/u.test(code);
  // West Jordan has five-digit codes like Jordan: a numeric code counts only behind a country on its own.
  for (const count of hasLetters ? [3, 2, 1] : [words.length]) {
    const name = words.slice(-count).join(' ');
    const country = findCountry(name);
    if (country === undefined || readPostalCode(code, country) === undefined) continue;
    if (name.length <= 3 && name !== name.toUpperCase()) continue;
    // "DE 19801" is in Delaware, and "Georgia 30303" in Atlanta.
    if (!hasLetters && (name.length <= 2 || mayBeRegion(name))) continue;
    return { country, ahead: words.slice(0, -count).join(' ') };
  }
  return undefined;
}

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
