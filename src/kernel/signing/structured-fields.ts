/** The subset of structured field values (RFC 8941) that signatures and profiles need. */
type FieldItem = string | number | boolean | Uint8Array | { readonly token: string };
type FieldParameters = ReadonlyMap<string, FieldItem>;

export interface FieldMember {
  readonly value: FieldItem | readonly ListedItem[];
  readonly parameters: FieldParameters;
  /** As written in the header; no other spelling is accepted. */
  readonly text: string;
}

interface ListedItem {
  readonly value: FieldItem;
  readonly parameters: FieldParameters;
}

/**
 * Reads a dictionary, more strictly than the standard because it is read for signatures: each name once, and no
 * optional whitespace. So exactly what was signed is read. Returns undefined otherwise.
 */
export function readDictionary(text: string): ReadonlyMap<string, FieldMember> | undefined {
  try {
    return dictionary(new Reader(text.replace(/^ +| +$/g, '')));
  } catch (error) {
    if (error instanceof NotAField) return undefined;
    throw error;
  }
}

class NotAField extends Error {}

class Reader {
  readonly #text: string;
  at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get ended(): boolean {
    return this.at === this.#text.length;
  }

  /** Returns the first group or the whole match; undefined when the expression does not match here. */
  take(expression: RegExp): string | undefined {
    expression.lastIndex = this.at;
    const found = expression.exec(this.#text);
    if (found === null) return undefined;
    this.at += found[0].length;
    return found[1] ?? found[0];
  }

  need(expression: RegExp): string {
    const found = this.take(expression);
    if (found === undefined) throw new NotAField();
    return found;
  }

  since(start: number): string {
    return this.#text.slice(start, this.at);
  }
}

const key = /[a-z*][a-z0-9_.*-]*/y;
const comma = /[ \t]*,[ \t]*/y;
const stringItem = /"((?:[ !#-[\]-~]|\\["\\])*)"/y;
const bytesItem = /:([A-Za-z0-9+/]*={0,2}):/y;
const numberItem = /-?\d{1,12}\.\d{1,3}|-?\d{1,15}/y;
const booleanItem = /\?([01])/y;
const tokenItem = /[A-Za-z*][\w!#$%&'*+.^`|~:/-]*/y;

function dictionary(reader: Reader): ReadonlyMap<string, FieldMember> {
  const members = new Map<string, FieldMember>();
  do {
    addOnce(members, reader.need(key), member(reader));
  } while (!reader.ended && reader.need(comma) !== '');
  return members;
}

function member(reader: Reader): FieldMember {
  const start = reader.at + 1;
  if (reader.take(/=/y) === undefined) return { value: true, parameters: parameters(reader), text: '' };
  const value = reader.take(/\(/y) === undefined ? item(reader) : list(reader);
  return { value, parameters: parameters(reader), text: reader.since(start) };
}

function list(reader: Reader): readonly ListedItem[] {
  const items: ListedItem[] = [];
  while (reader.take(/\)/y) === undefined) {
    if (items.length > 0) reader.need(/ /y);
    items.push({ value: item(reader), parameters: parameters(reader) });
  }
  return items;
}

function parameters(reader: Reader): FieldParameters {
  const found = new Map<string, FieldItem>();
  while (reader.take(/;/y) !== undefined) {
    addOnce(found, reader.need(key), reader.take(/=/y) === undefined ? true : item(reader));
  }
  return found;
}

function item(reader: Reader): FieldItem {
  const text = reader.take(stringItem);
  if (text !== undefined) return text.replace(/\\(.)/g, '$1');
  const bytes = reader.take(bytesItem);
  if (bytes !== undefined) return fromBase64(bytes);
  const digits = reader.take(numberItem);
  if (digits !== undefined) return Number(digits);
  const truth = reader.take(booleanItem);
  if (truth !== undefined) return truth === '1';
  return { token: reader.need(tokenItem) };
}

/** Unused bits of the last character must be zero, so that each value has one spelling. */
function fromBase64(text: string): Uint8Array {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.toString('base64') !== text) throw new NotAField();
  return bytes;
}

function addOnce<T>(map: Map<string, T>, name: string, value: T): void {
  if (map.has(name)) throw new NotAField();
  map.set(name, value);
}
