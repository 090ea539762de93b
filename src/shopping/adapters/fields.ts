/** Lenient readers for untrusted JSON: a value of an unexpected type counts as missing. */

export type Fields = Readonly<Record<string, unknown>>;

export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

/** Wraps a single value in a list. Ignores everything after the first `most` entries. */
export function listOf(value: unknown, most = 100): readonly unknown[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value.slice(0, most) : [value];
}

export function booleanOf(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined;
}

/** Longer than anything that is shown, sent or compared. */
const longestText = 4_000;

/** A text, or a number as text. Text that a URL or PostgreSQL cannot hold counts as missing. */
export function textOf(value: unknown): string | undefined {
  if (typeof value === 'number' && Number.isFinite(value)) return String(value);
  if (typeof value !== 'string') return undefined;
  const text = value.length > longestText ? value.slice(0, longestText).replace(/[\ud800-\udbff]$/, '') : value;
  return text.trim() !== '' && text.isWellFormed() && !text.includes('\0') ? text : undefined;
}
