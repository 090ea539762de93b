import type { AddressParts } from './address-parts.ts';

const unit =
  /^(?:#|apt\b|apartment\b|app\b|suite\b|ste\b|unit\b|flat\b|floor\b|fl\b|level\b|room\b|rm\b|building\b|bldg\b|block\b|tower\b|c\/o\b|attn\b|etage\b|stock\b|\d+(?:st|nd|rd|th) floor\b|(?:ground|first|second|third) floor\b)/i;
const streetEnd =
  /(?:^|[ -])(?:st|street|ave|avenue|rd|road|blvd|boulevard|ln|lane|dr|drive|way|ct|court|hwy|highway|pkwy|parkway|pl|place|sq|square|ter|terrace|close|crescent|cres|row|walk|quay|alley)\.?(?: (?:n|s|e|w|ne|nw|se|sw|north|south|east|west))?$|(?:stra(?:ss|ß)e|str\.?|gasse|weg|platz|allee|ufer|damm|laan|straat|gracht|plein|gatan|vägen|vej|gade|veien|gata|katu|tie|utca)$/i;
const streetStart =
  /^(?:rue|avenue|boulevard|bd|via|viale|piazza|corso|calle|avenida|av|paseo|plaza|rua|travessa|ulica|ul)\b/i;

/** A flat, a floor or somebody's company: part of where the parcel goes, and no street. */
export function isUnit(piece: string): boolean {
  return unit.test(piece);
}

export function looksLikeStreet(piece: string): boolean {
  return streetEnd.test(piece) || streetStart.test(piece);
}

export function hasHouseNumber(piece: string): boolean {
  return /\d/.test(piece) && !isUnit(piece);
}

/** Name, street and what else there is, from the pieces before the place. A piece with a number in it is nobody's name. */
export function readRecipient(before: readonly string[]): Pick<AddressParts, 'name' | 'street' | 'extra'> {
  const [first, ...others] = joinNumbers(before);
  if (first === undefined) return {};
  const [name, lines] = /\d/.test(first) ? [undefined, [first, ...others]] : [first, others];
  const found = lines.findIndex(hasHouseNumber);
  const named = found === -1 ? lines.findIndex((line) => !isUnit(line)) : found;
  const extra = lines.filter((_, index) => index !== named).join(', ');
  return { name, street: lines[named], extra: extra === '' ? undefined : extra };
}

/** "Via Roma, 5" and "12, rue de la Paix" are one street. */
function joinNumbers(pieces: readonly string[]): string[] {
  const isNumber = (piece: string | undefined) => /^(?:n[°ºo]?\.? ?)?\d{1,5} ?[a-z]?$/i.test(piece ?? '');
  const joined: string[] = [];
  for (const [index, piece] of pieces.entries()) {
    const previous = pieces[index - 1];
    if (index > 1 && isNumber(piece) && !/\d/.test(previous ?? '')) joined.push(`${joined.pop()}, ${piece}`);
    else if (index > 0 && isNumber(previous) && !/\d/.test(piece) && index <= 2)
      joined.push(`${joined.pop()}, ${piece}`);
    else joined.push(piece);
  }
  return joined;
}
