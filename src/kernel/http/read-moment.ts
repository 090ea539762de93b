import { z } from 'zod';

export const dateTimeField = z.string().transform((text, context) => {
  const moment = text.length > 80 ? undefined : readMoment(text);
  if (moment === undefined) {
    context.addIssue('must be a valid date or date and time, such as 2027-01-31 or 2027-01-31T12:00:00Z');
  }
  return moment ?? z.NEVER;
});

export const dateTimeFormats =
  'An ISO 8601 date and time, in UTC unless it has a time zone. A date alone means the end of that day in UTC.';

const dayMs = 86_400_000;

/** A year, then month and day, week and weekday, or day of the year; hyphens are optional. */
const dateForm = /^(\d{4})(?:-(\d\d)-(\d\d)|(\d\d)(\d\d)|-?W(\d\d)-?([1-7])|-?(\d{3}))$/i;
const timeForm = /^(\d\d)(?::?(\d\d)(?::?(\d\d))?)?(?:[.,](\d{1,30}))?(Z|[+\u2212-]\d\d(?::?\d\d)?)?$/i;

/**
 * Reads any ISO 8601 form. A date alone means the last millisecond of that day. The default time zone is UTC. Returns
 * undefined for a moment that does not exist, such as 30 February, or for text that names more than a day.
 */
export function readMoment(text: string): Date | undefined {
  const [date = '', time, ...more] = text.trim().split(/[T ]/i);
  const day = readDay(date);
  if (day === undefined || more.length > 0) return undefined;
  const sinceMidnight = time === undefined ? dayMs - 1 : readTime(time);
  if (sinceMidnight === undefined) return undefined;
  const moment = new Date(day + sinceMidnight);
  const year = moment.getUTCFullYear();
  return year >= 0 && year <= 9999 ? moment : undefined;
}

/** Midnight UTC. */
function readDay(text: string): number | undefined {
  const [, year, month, day, basicMonth, basicDay, week, weekday, ordinal] = dateForm.exec(text) ?? [];
  if (year === undefined) return undefined;
  if (week !== undefined) return dayOfWeek(Number(year), Number(week), Number(weekday));
  if (ordinal !== undefined) return dayOfYear(Number(year), Number(ordinal));
  return dayOfMonth(Number(year), Number(month ?? basicMonth), Number(day ?? basicDay));
}

function dayOfMonth(year: number, month: number, day: number): number | undefined {
  const date = new Date(midnight(year, month, day));
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? date.getTime() : undefined;
}

function dayOfYear(year: number, ordinal: number): number | undefined {
  const found = midnight(year, 1, ordinal);
  return found >= midnight(year, 1, 1) && found < midnight(year + 1, 1, 1) ? found : undefined;
}

function dayOfWeek(year: number, week: number, weekday: number): number | undefined {
  const monday = firstMonday(year) + (week - 1) * 7 * dayMs;
  return week >= 1 && monday < firstMonday(year + 1) ? monday + (weekday - 1) * dayMs : undefined;
}

/** Week 1 is the week that contains 4 January. */
function firstMonday(year: number): number {
  const fourth = midnight(year, 1, 4);
  return fourth - ((new Date(fourth).getUTCDay() + 6) % 7) * dayMs;
}

/** Date.UTC would read the years 0 to 99 as 1900 to 1999. */
function midnight(year: number, month: number, day: number): number {
  return new Date(0).setUTCFullYear(year, month - 1, day);
}

/** Milliseconds since midnight, minus the offset. */
function readTime(text: string): number | undefined {
  const [, hours, minutes, seconds, fraction = '', zone] = timeForm.exec(text) ?? [];
  if (hours === undefined) return undefined;
  // The fraction applies to the smallest unit given.
  const unitMs = seconds !== undefined ? 1_000 : minutes !== undefined ? 60_000 : 3_600_000;
  const partMs = Math.floor((Number(fraction.slice(0, 9).padEnd(9, '0')) * unitMs) / 1e9);
  const ms = (Number(hours) * 3_600 + Number(minutes ?? 0) * 60 + Number(seconds ?? 0)) * 1_000 + partMs;
  const offset = readOffset(zone);
  if (Number(minutes ?? 0) > 59 || Number(seconds ?? 0) > 59 || ms > dayMs || offset === undefined) return undefined;
  return ms - offset;
}

function readOffset(zone: string | undefined): number | undefined {
  if (zone === undefined || zone.toUpperCase() === 'Z') return 0;
  const [hours, minutes] = [Number(zone.slice(1, 3)), Number(zone.slice(3).replace(':', '') || 0)];
  if (hours > 23 || minutes > 59) return undefined;
  return (zone.startsWith('+') ? 1 : -1) * (hours * 60 + minutes) * 60_000;
}
