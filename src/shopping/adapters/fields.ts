/** Readers for answers of strangers: whatever has another type than it should is not there. */

export type Fields = Readonly<Record<string, unknown>>;

/** Never the prototype's: a field is there only when the answer has it. */
export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

/** One thing where there should be a list is a list of one; more than these many are not looked at. */
export function listOf(value: unknown, most = 100): readonly unknown[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value.slice(0, most) : [value];
}

/** Nothing that is shown, sent or compared is longer; the rest is not even looked at. */
const longestText = 4_000;

/** Text, or a number where text was meant. What neither an address nor the database can hold is no text. */
export function textOf(value: unknown): string | undefined {
  if (typeof value === 'number' && Number.isFinite(value)) return String(value);
  if (typeof value !== 'string') return undefined;
  const text = value.length > longestText ? value.slice(0, longestText).replace(/[\ud800-\udbff]$/, '') : value;
  return text.trim() !== '' && text.isWellFormed() && !text.includes('\0') ? text : undefined;
}
