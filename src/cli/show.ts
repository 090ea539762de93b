/** Control characters and those that change the direction of text: names and descriptions come from strangers. */
const unsafe = /[\p{Cc}\u2028\u2029\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]/gu;

/** Text that a terminal only shows. */
export function plain(text: string, { lines = false } = {}): string {
  return text.replace(unsafe, (char) => (lines && char === '\n' ? char : '\ufffd'));
}

/** JSON that a terminal only shows, and that says the same. */
export function toJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(unsafe, (char) =>
    char === '\n' && indent !== undefined ? char : `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

type Row = readonly (readonly [name: string, value: string])[];

/** An answer of the service for people: a table for a list, aligned lines for anything else. */
export function show(value: unknown): string {
  if (!isObject(value)) return plain(String(value), { lines: true });
  const { nextCursor, ...rest } = value;
  const lists = Object.entries(rest).filter(([, member]) => isList(member));
  const [list] = lists;
  if (list === undefined || nextCursor === undefined) return aligned(flatten(value));
  const [name, items] = list as [string, readonly Readonly<Record<string, unknown>>[]];
  if (items.length === 0) return `No ${name}.`;
  const more = typeof nextCursor === 'string' ? `\n\nMore: --cursor ${plain(nextCursor)}` : '';
  return `${table(items.map(flatten))}${more}`;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isList(value: unknown): boolean {
  return Array.isArray(value) && value.every(isObject);
}

/** One name and text for each value, however deep: `counterparty.handle`. */
function flatten(value: Readonly<Record<string, unknown>>): Row {
  return Object.entries(value).flatMap(([name, member]): Row => {
    if (member === null || member === undefined) return [[plain(name), '']];
    if (Array.isArray(member) && member.length === 0) return [];
    if (isObject(member)) return flatten(member).map(([inner, text]) => [`${plain(name)}.${inner}`, text]);
    return [[plain(name), plain(typeof member === 'object' ? JSON.stringify(member) : String(member))]];
  });
}

function aligned(row: Row): string {
  const width = Math.max(...row.map(([name]) => name.length), 0);
  return row.map(([name, value]) => `${name.padEnd(width)}  ${value}`.trimEnd()).join('\n');
}

const widest = 48;

function table(rows: readonly Row[]): string {
  const filled = (name: string) => rows.some((row) => row.some(([other, value]) => other === name && value !== ''));
  const names = [...new Set(rows.flatMap((row) => row.map(([name]) => name)))].filter(filled);
  const lines = rows.map((row) => names.map((name) => shorten(new Map(row).get(name) ?? '')));
  const widths = names.map((name, at) => Math.max(name.length, ...lines.map((line) => line[at]?.length ?? 0)));
  const isNumber = names.map((_, at) => lines.every((line) => /^[+-]?[\d.]*$/.test(line[at] ?? '')));
  const join = (cells: readonly string[]) =>
    cells
      .map((cell, at) => (isNumber[at] ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0)))
      .join('  ')
      .trimEnd();
  return [join(names), ...lines.map(join)].join('\n');
}

function shorten(text: string): string {
  return text.length > widest ? `${text.slice(0, widest - 1)}…` : text;
}
