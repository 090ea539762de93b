import type { Place } from './address-parts.ts';
import { type FoundCode, findPostalCode } from './postal-codes.ts';
import { hasHouseNumber, isUnit, looksLikeStreet } from './read-recipient.ts';
import { findRegion, listsRegions, splitRegion } from './regions.ts';

/** Reads city, region and postal code from the end, in the formats of that country. */
export function takePlace(pieces: readonly string[], country: string): Place {
  const last = pieces.length - 1;
  const found = takeWithCode(pieces, last, country) ?? takeWithCode(pieces, last - 1, country);
  if (found !== undefined) return found;
  const region = findRegion(pieces[last] ?? '', country);
  if (region !== undefined && isCity(pieces, last - 1, country)) {
    return { postalCode: undefined, region, city: pieces[last - 1], before: pieces.slice(0, last - 1) };
  }
  if (!isCity(pieces, last, country))
    return { postalCode: undefined, region: undefined, city: undefined, before: pieces };
  return { postalCode: undefined, region: undefined, city: pieces[last], before: pieces.slice(0, last) };
}

/** The code is in the last piece, or in the one before if a region or city follows. */
function takeWithCode(pieces: readonly string[], index: number, country: string): Place | undefined {
  const found = findPostalCode(pieces[index] ?? '', country);
  if (found === undefined || !isPlausible(found, pieces.slice(0, index), country)) return undefined;
  const { code: postalCode, rest, stands } = found;
  const follower = pieces[index + 1];
  if (follower === undefined) return { postalCode, ...readRest(rest, pieces, index, country) };
  const region = findRegion(follower, country);
  if (rest === '' && region === undefined) {
    if (/\d/.test(follower)) return undefined;
    return { postalCode, city: follower, region, before: pieces.slice(0, index) };
  }
  // The piece after the city is its region, unless we know all regions and it is none of them, or the code piece is a
  // street.
  if (region === undefined && (listsRegions(country) || stands !== 'before' || /\d/.test(follower))) return undefined;
  const place = readRest(rest, pieces, index, country);
  return { postalCode, ...place, region: region ?? follower };
}

type PlaceInRegion = Pick<Place, 'city' | 'region' | 'before'>;

/** The rest of the code's piece: nothing, a region, a city, or both. */
function readRest(rest: string, pieces: readonly string[], index: number, country: string): PlaceInRegion {
  const before = pieces.slice(0, index);
  const region = findRegion(rest, country);
  if (rest === '' || region !== undefined) {
    const further = rest === '' ? findRegion(pieces[index - 1] ?? '', country) : undefined;
    if (further !== undefined && isCity(pieces, index - 2, country)) {
      return { city: pieces[index - 2], region: further, before: pieces.slice(0, index - 2) };
    }
    // New York is in New York: if no street comes before, the piece before is not a city.
    const mayBeCity = rest.length > 3 && !pieces.slice(0, index - 1).some(hasHouseNumber);
    if (!mayBeCity && isCity(pieces, index - 1, country)) {
      return { region, ...withRegion(pieces[index - 1] ?? '', country), before: pieces.slice(0, index - 1) };
    }
    return rest.length > 3 ? { city: rest, region: undefined, before } : { city: undefined, region, before };
  }
  return { region: undefined, ...withRegion(rest, country), before };
}

function withRegion(city: string, country: string): { readonly city: string; readonly region?: string } {
  return splitRegion(city, country) ?? { city };
}

/** The first piece is a name or a street, and a piece with a number is a street; but Dublin has numbered districts. */
function isCity(pieces: readonly string[], index: number, country: string): boolean {
  const piece = pieces[index];
  if (piece === undefined || index < 1 || isUnit(piece)) return false;
  return !/\d/.test(piece) || (country === 'IE' && /^Dublin \d{1,2}W?$/i.test(piece));
}

/** "10115 Main St" and "Hauptstrasse 1010" look like codes: accepted only if a street comes before. */
function isPlausible({ code, rest, stands }: FoundCode, before: readonly string[], country: string): boolean {
  if (rest === '' || /[A-Z]/.test(code) || before.some(hasHouseNumber)) return true;
  if (looksLikeStreet(rest)) return false;
  const hasRegion = findRegion(rest, country) !== undefined || splitRegion(rest, country) !== undefined;
  return stands === 'before' || hasRegion || code.length > 4;
}
