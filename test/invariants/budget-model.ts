const formats = new Map<string, Intl.DateTimeFormat>();

function localDate(
  timeZone: string,
  at: number,
): { readonly year: number; readonly month: number; readonly day: number } {
  let format = formats.get(timeZone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-CA', { timeZone, year: 'numeric', month: 'numeric', day: 'numeric' });
    formats.set(timeZone, format);
  }
  const part = Object.fromEntries(format.formatToParts(new Date(at)).map(({ type, value }) => [type, Number(value)]));
  return { year: part.year as number, month: part.month as number, day: part.day as number };
}

/** A number for the window of a moment, by the calendar of Intl, which rises with time. */
export function windowOf(span: 'once' | 'day' | 'week' | 'month', timeZone: string, at: number): number {
  if (span === 'once') return 0;
  const { year, month, day } = localDate(timeZone, at);
  if (span === 'month') return year * 12 + month;
  const days = Date.UTC(year, month - 1, day) / 86_400_000;
  // Sunday is 0, and weeks start on Monday.
  const weekday = (new Date(days * 86_400_000).getUTCDay() + 6) % 7;
  return span === 'day' ? days : days - weekday;
}
