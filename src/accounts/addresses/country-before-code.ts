import { findCountry } from './countries.ts';
import { readPostalCode } from './postal-codes.ts';
import { takePlace } from './read-place.ts';
import { mayBeRegion } from './regions.ts';

export interface CountryBeforeCode {
  readonly country: string;
  readonly rest: readonly string[];
}

/** "London, UK SW1A 1AA", "Toronto, Canada, M5V 2T6": the country is between city and code. */
export function findCountryBeforeCode(pieces: readonly string[]): CountryBeforeCode | undefined {
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
