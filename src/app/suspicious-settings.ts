import type { z } from 'zod';
import type { Given } from '../kernel/settings.ts';
import { parseUrl } from '../kernel/text/parse-url.ts';
import { type ChainFacts, type ChainId, chainIds, chains } from '../money/catalogue.ts';

/** What live mode starts with all the same, and tells the operator of, a sentence each. Values are not repeated. */
export function suspiciousSettings(given: Given, variables: z.ZodRawShape): readonly string[] {
  return [...misspelt(Object.keys(given), Object.keys(variables)), ...enormous(given, variables), ...openToAll(given)];
}

/** A database on a network that asks for no password lets everybody in who reaches it. A certificate, or a file of passwords, does as well. */
function openToAll(given: Given): string[] {
  return ['DATABASE_URL', 'MIGRATION_DATABASE_URL'].flatMap((name) => {
    const url = parseUrl(given[name] ?? '');
    if (url === undefined) return [];
    // As the driver does, a host among the options comes before the one in its place.
    const host = url.searchParams.get('host') || decodeURIComponent(url.hostname);
    if (host === '' || host.startsWith('/')) return [];
    if (url.password !== '' || ['password', 'sslcert'].some((key) => url.searchParams.get(key))) return [];
    if (given['PGPASSWORD'] !== undefined || given['PGPASSFILE'] !== undefined) return [];
    return [`${name} has no password: whoever reaches the database would be let in`];
  });
}

/** A name that is nearly one of ours was meant to be ours, and says nothing as it is. */
function misspelt(names: readonly string[], known: readonly string[]): string[] {
  const ours = new Set(known);
  return names.flatMap((name) => {
    if (ours.has(name)) return [];
    const meant = otherNames[name.toUpperCase()] ?? nearest(name, known);
    if (meant === undefined && name.startsWith('RPC_URLS_'))
      return [`${name} is not a setting: there is no such chain here`];
    return meant === undefined ? [] : [`${name} is not a setting. Did you mean ${meant}?`];
  });
}

/** What others call the same thing, and slips in names that are too short to be compared: one letter away are many honest ones. */
const otherNames: Readonly<Record<string, string>> = {
  ...Object.fromEntries(chainIds.flatMap(otherChainNames)),
  TRUST_PROXY: 'TRUSTED_PROXIES',
  TRUST_PROXIES: 'TRUSTED_PROXIES',
  TRUSTED_PROXY: 'TRUSTED_PROXIES',
  PROT: 'PORT',
  PORRT: 'PORT',
  HOSTT: 'HOST',
  HSOT: 'HOST',
};

function otherChainNames(id: ChainId): [string, string][] {
  const { name, alsoCalled = [] }: ChainFacts = chains[id];
  return [name, ...alsoCalled].map((other) => [`RPC_URLS_${other.toUpperCase()}`, `RPC_URLS_${id}`]);
}

/** One letter in six may be wrong. */
const lettersPerMistake = 6;

function nearest(name: string, known: readonly string[]): string | undefined {
  const most = mostMistakes(name);
  const near = known
    .filter((one) => Math.abs(one.length - name.length) <= most)
    .map((one) => ({ one, distance: distanceBetween(name.toUpperCase(), one) }))
    .filter(({ distance }) => distance <= most)
    .sort((a, b) => a.distance - b.distance);
  return near[0]?.one;
}

/** Chains have short names: two letters away, or one of three, is another chain and not a slip. */
function mostMistakes(name: string): number {
  const chain = /^RPC_URLS_(.*)/.exec(name)?.[1];
  if (chain === undefined) return Math.floor(name.length / lettersPerMistake);
  return chain.length < 4 ? 0 : 1;
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

/** What live mode takes where the schema has no number of its own, because the sandbox takes another. */
const usualInLive: Readonly<Record<string, number>> = {
  REGISTRATIONS_PER_DAY_PER_NETWORK: 200,
  RATE_LIMIT_ADDRESS_PER_MINUTE: 6_000,
  DEPOSIT_ONE_NODE_LIMIT: 1_000,
  NANO_SETTLE_SECONDS: 60,
};

/** A limit that is a thousand times the usual one is none. */
function enormous(given: Given, variables: z.ZodRawShape): string[] {
  return Object.keys(given).flatMap((name) => {
    const variable = variables[name];
    if (variable === undefined || !('safeParse' in variable)) return [];
    const read = (text: string | undefined) => toNumber((variable as z.ZodType).safeParse(text).data);
    const [usual, chosen] = [usualInLive[name] ?? read(undefined), read(given[name])];
    if (usual === undefined || chosen === undefined || usual <= 0 || chosen < manyTimes * usual) return [];
    return [`${name} is ${Math.floor(chosen / usual)} times the usual ${usual}: as good as no limit`];
  });
}

/** Amounts are in millionths of a dollar. */
function toNumber(value: unknown): number | undefined {
  if (typeof value === 'bigint') return Number(value) / 1_000_000;
  return typeof value === 'number' ? value : undefined;
}
