import type { z } from 'zod';
import { parseUrl } from './parse-url.ts';
import type { Given } from './settings.ts';

/** What live mode starts with all the same, and tells the operator of, a sentence each. Values are not repeated. */
export function suspiciousSettings(given: Given, variables: z.ZodRawShape): readonly string[] {
  return [...misspelt(Object.keys(given), Object.keys(variables)), ...enormous(given, variables), ...openToAll(given)];
}

/** A database on a network that asks for no password lets everybody in who reaches it. A certificate, or a file of passwords, does as well. */
function openToAll(given: Given): string[] {
  return ['DATABASE_URL', 'MIGRATION_DATABASE_URL'].flatMap((name) => {
    const url = parseUrl(given[name] ?? '');
    if (url === undefined || url.password !== '' || url.host === '' || url.host.startsWith('%2F')) return [];
    if (['password', 'sslcert', 'host'].some((key) => url.searchParams.has(key))) return [];
    if (given['PGPASSWORD'] !== undefined || given['PGPASSFILE'] !== undefined) return [];
    return [`${name} has no password: whoever reaches the database would be let in`];
  });
}

/** A name that is nearly one of ours was meant to be ours, and says nothing as it is. */
function misspelt(names: readonly string[], known: readonly string[]): string[] {
  const ours = new Set(known);
  return names.flatMap((name) => {
    if (ours.has(name)) return [];
    const meant = nearest(name, known);
    return meant === undefined ? [] : [`${name} is not a setting. Did you mean ${meant}?`];
  });
}

/** One letter in six may be wrong. */
const lettersPerMistake = 6;

function nearest(name: string, known: readonly string[]): string | undefined {
  const most = Math.floor(name.length / lettersPerMistake);
  const near = known
    .filter((one) => Math.abs(one.length - name.length) <= most)
    .map((one) => ({ one, distance: distanceBetween(name.toUpperCase(), one) }))
    .filter(({ distance }) => distance <= most)
    .sort((a, b) => a.distance - b.distance);
  return near[0]?.one;
}

/** How many letters have to be changed, added, removed or swapped with their neighbour. */
function distanceBetween(one: string, other: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let row = 1; row <= one.length; row++) {
    const current = [row];
    for (let column = 1; column <= other.length; column++) {
      const isSame = one[row - 1] === other[column - 1];
      const isSwapped = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      current[column] = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (isSame ? 0 : 1),
        ...(isSwapped ? [(beforeLast[column - 2] ?? 0) + 1] : []),
      );
    }
    [beforeLast, last] = [last, current];
  }
  return last[other.length] ?? 0;
}

const manyTimes = 1_000;

/** A limit that is a thousand times the usual one is none. */
function enormous(given: Given, variables: z.ZodRawShape): string[] {
  return Object.keys(given).flatMap((name) => {
    const variable = variables[name];
    if (variable === undefined || !('safeParse' in variable)) return [];
    const usual = (variable as z.ZodType).safeParse(undefined).data;
    const chosen = (variable as z.ZodType).safeParse(given[name]).data;
    if (typeof usual !== 'number' || typeof chosen !== 'number' || usual <= 0 || chosen < manyTimes * usual) return [];
    return [`${name} is ${Math.floor(chosen / usual)} times the usual ${usual}: as good as no limit`];
  });
}
