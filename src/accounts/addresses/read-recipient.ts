import type { AddressParts } from './address-parts.ts';
import { fold } from './countries.ts';

const unit =
  /^(?:#|apt\b|apartment\b|app\b|suite\b|ste\b|unit\b|flat\b|floor\b|fl\b|level\b|room\b|rm\b|building\b|bldg\b|block\b|tower\b|c\/o\b|attn\b|etage\b|stock\b|\d+(?:st|nd|rd|th) floor\b|(?:ground|first|second|third) floor\b)/i;
const streetEnd =
  /(?:^|[ -])(?:st|street|ave|avenue|rd|road|blvd|boulevard|ln|lane|dr|drive|way|ct|court|hwy|highway|pkwy|parkway|pl|place|sq|square|ter|terrace|close|crescent|cres|row|walk|quay|alley)\.?(?: (?:n|s|e|w|ne|nw|se|sw|north|south|east|west))?$|(?:stra(?:ss|ß)e|str\.?|gasse|weg|platz|allee|ufer|damm|laan|straat|gracht|plein|gatan|vägen|vej|gade|veien|gata|katu|tie|utca)$/i;
const streetStart =
  /^(?:rue|avenue|boulevard|bd|via|viale|piazza|corso|calle|avenida|av|paseo|plaza|rua|travessa|ulica|ul)\b/i;

/** A flat, a floor or a company: part of the destination, but not a street. */
export function isUnit(piece: string): boolean {
  return unit.test(piece);
}

export function looksLikeStreet(piece: string): boolean {
  return streetEnd.test(piece) || streetStart.test(piece);
}

export function hasHouseNumber(piece: string): boolean {
  return /\d/.test(piece) && !isUnit(piece);
}

/** Legal forms of companies, and suffixes of personal names. */
const title =
  /(?:^|[ ,&])(?:inc|incorporated|l\.?l\.?c|ltd|limited|corp|corporation|co|company|l\.?p|llp|plc|pty(?:\.? ltd)?|pvt(?:\.? ltd)?|gmbh(?: & co\.? kg)?|g?ag|kg|ohg|ug|se|e\.? ?[kv]|s\.?a|s\.?a\.?s|s\.?a\.?r\.?l|s\.?r\.?l|s\.?p\.?a|s\.?l|b\.?v|n\.?v|ab|as|a\/s|aps|oyj?|k\.?k|ltda?|lda|sp\. ?z ?o\. ?o|s\.? ?r\.? ?o|a\.s|kft|d\.o\.o|jr|sr|ii|iii|iv|ph\.?d|m\.?d|esq)\.?$/i;
const building =
  /(?:^| )(?:house|cottage|building|bldg|towers?|mansions?|apartments|residences?|court|lodge|villas?|heights|plaza|mall|estate|centre|center|(?:business|industrial|retail|office|technology) park|farm|rectory|vicarage|barn)$/i;
/** Names of houses, not of people; "Jane Hill" and "Tom Wood" are people. */
const houseName =
  /^the |^\p{L}{2,}(?:woods?|top|side|view|acres?|haven|crest|mead|brook|croft|holme|fields?|hurst|stead)$|(?:^| )(?:views?|hilltop|hillside|meadows?|orchards?|acres|haven|grange|manor|gardens?|nook|retreat|rise|gables|oaks|elms|pines|willows|cedars|beeches|laurels|firs|hollies|poplars|limes|chestnuts|corner|bungalow|annexe?|stables|granary|forge|smithy|schoolhouse|chapel|priory|hotel|inn)$/iu;
/** "Villa 5" is an extra line if a street follows, and the street otherwise. */
const numberedHouse = /^(?:villa|house|plot|shop|office|lot|casa|haus|door|gate) ?(?:no\.?|n[°º]|#)? ?\d+ ?[a-z]?$/i;
const box =
  /^(?:packstation|postfiliale|paketbox|p\.? ?o\.? ?box|postfach|postbus|apartado|casilla|bo[iî]te postale)\b/i;
const attention = /^(?:attn|attention|fao|z\. ?hd\.?)\b[.:]* ?/i;

/** "Acme, Inc." and "John Smith, Jr." are one name; "Denver, CO" is a place. */
export function joinTitles(pieces: readonly string[]): string[] {
  const joined: string[] = [];
  for (const [index, piece] of pieces.entries()) {
    const isTitle = title.exec(piece)?.index === 0 && (index === 1 || !/^[A-Z]{2}$/.test(piece));
    const follows =
      joined.length > 0 && index < pieces.length - 1 && !pieces.slice(0, index).some((one) => /\d/.test(one));
    if (isTitle && follows) joined.push(`${joined.pop()}, ${piece}`);
    else joined.push(piece);
  }
  return joined;
}

export interface Recipient extends Pick<AddressParts, 'name' | 'street' | 'extra'> {
  /** A first line that may be the recipient or part of the address. */
  readonly unclear?: string | undefined;
}

/** Reads name, street and further lines from the pieces before the place. */
export function readRecipient(before: readonly string[], owner: string | undefined): Recipient {
  const [first, ...others] = joinNumbers(before);
  if (first === undefined) return {};
  const isOwner = owner !== undefined && fold(first) === fold(owner);
  if (isOwner) return { name: first, ...readLines(others) };
  if (mayBeEither(first, others)) return { ...readLines([first, ...others]), unclear: first };
  if (isName(first, others)) return { name: first.replace(attention, ''), ...readLines(others) };
  return readLines([first, ...others]);
}

/** A name has no number unless it is a company's. It is not a street unless another street follows, as with Diane Lane. */
function isName(first: string, others: readonly string[]): boolean {
  if (attention.test(first)) return true;
  if (isUnit(first)) return false;
  if (title.test(first) && others.length > 0) return true;
  if (/\d/.test(first)) return false;
  return !looksLikeStreet(first) || others.some(hasHouseNumber);
}

/** "Elm Court, 12 High Street" and "Agent 47, 1 Main St" begin with a name, a house or a street: only the author knows. */
function mayBeEither(first: string, others: readonly string[]): boolean {
  if (isUnit(first) || title.test(first) || attention.test(first) || numberedHouse.test(first)) return false;
  if (!/\d/.test(first) && houseName.test(first))
    return others.some((one) => hasHouseNumber(one) || looksLikeStreet(one));
  if (!/\d/.test(first)) return building.test(first) && others.length > 0 && first.includes(' ');
  return !isStreet(first) && others.some(isStreet);
}

/** A street with its house number on either side. */
function isStreet(piece: string): boolean {
  if (!hasHouseNumber(piece)) return false;
  return looksLikeStreet(piece.replace(/^\d[\w/-]*,? |,? \d[\w/-]*(?: ?[a-z])?$/gi, ''));
}

function readLines(lines: readonly string[]): Pick<AddressParts, 'street' | 'extra'> {
  const choices = [
    isStreet,
    (line: string) => box.test(line),
    (line: string) => looksLikeStreet(line) && lines.some((one) => numberedHouse.test(one)),
    (line: string) => hasHouseNumber(line) && !isLongNumber(line),
    looksLikeStreet,
    (line: string) => !isUnit(line) && !title.test(line) && !isLongNumber(line),
  ];
  const named = choices.map((isIt) => lines.findIndex(isIt)).find((index) => index !== -1);
  const extra = lines.filter((_, index) => index !== named).join(', ');
  return { street: named === undefined ? undefined : lines[named], extra: extra === '' ? undefined : extra };
}

/** A customer number, which German Packstation addresses include. */
function isLongNumber(line: string): boolean {
  return /^\d{6,}$/.test(line.replace(/[ -]/g, ''));
}

/** "Via Roma, 5" and "12, rue de la Paix" are one street. */
function joinNumbers(pieces: readonly string[]): string[] {
  const isNumber = (piece: string | undefined) => /^(?:n[°ºo]?\.? ?)?\d{1,5} ?[a-z]?$/i.test(piece ?? '');
  const joined: string[] = [];
  for (const [index, piece] of pieces.entries()) {
    const previous = pieces[index - 1];
    if (index > 0 && (index > 1 || looksLikeStreet(previous ?? '')) && isNumber(piece) && !/\d/.test(previous ?? ''))
      joined.push(`${joined.pop()}, ${piece}`);
    else if (index > 0 && isNumber(previous) && !/\d/.test(piece) && index <= 2)
      joined.push(`${joined.pop()}, ${piece}`);
    else joined.push(piece);
  }
  return joined;
}
