import type { z } from 'zod';
import { readDatabaseUrl, readReplicaUrl } from '../kernel/db/writable-client.ts';
import type { Given } from '../kernel/settings.ts';
import { parseUrl } from '../kernel/text/parse-url.ts';
import { type ChainFacts, type ChainId, chainIds, chains } from '../money/catalogue.ts';

/** Values with which live mode starts, but which the operator should check. Values are not repeated. */
export function suspiciousSettings(given: Given, variables: z.ZodRawShape): readonly string[] {
  return [...enormous(given, variables), ...withoutPassword(given)];
}

/** A certificate or a file of passwords protects a database as well as a password does. */
function withoutPassword(given: Given): string[] {
  const read = {
    DATABASE_URL: readDatabaseUrl,
    DATABASE_READ_URL: readReplicaUrl,
    MIGRATION_DATABASE_URL: readDatabaseUrl,
  };
  return Object.entries(read).flatMap(([name, readUrl]) => {
    const url = parseUrl(readUrl(given[name] ?? '') ?? '');
    if (url === undefined) return [];
    // The driver, too, prefers a host among the options.
    const host = url.searchParams.get('host') || decodeURIComponent(url.hostname);
    if (host === '' || host.startsWith('/')) return [];
    if (url.password !== '' || ['password', 'sslcert'].some((key) => url.searchParams.get(key))) return [];
    if (given['PGPASSWORD'] !== undefined || given['PGPASSFILE'] !== undefined) return [];
    return [`${name} has no password: anyone who reaches the database could log in`];
  });
}

/** Prefixes that no other program uses: a name that begins with one and is not a setting was meant for us. */
const ownPrefixes = /^(?:RATE_LIMIT|RPC_URLS|WITHDRAWALS?|NANO|SANDBOX|X402)_/;

/** A name that is no longer a setting, that is nearly one, or that can only be meant for this service. */
export function unknownSettings(names: readonly string[], known: readonly string[]): string[] {
  const ours = new Set(known);
  return names.flatMap((name) => {
    if (ours.has(name)) return [];
    const now = removedSettings[name];
    if (now !== undefined) return [`${name} is no longer a setting: ${now}`];
    const meant = otherNames[name.toUpperCase()] ?? nearest(name, [...known, ...Object.keys(removedSettings)]);
    if (meant !== undefined && meant in removedSettings) {
      return [`${name} is not a setting. ${meant} is no longer one either: ${removedSettings[meant]}`];
    }
    if (meant !== undefined) return [`${name} is not a setting. Did you mean ${meant}?`];
    if (name.startsWith('RPC_URLS_')) return [`${name} is not a setting: there is no such chain here`];
    return ownPrefixes.test(name) ? [`${name} is not a setting; docs/settings.md lists them all`] : [];
  });
}

/** What others call the same setting, and slips in names too short to be compared: many honest names are one letter away. */
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

/** Chain names are short: two letters away, or one of three, is another chain and not a slip. */
function mostMistakes(name: string): number {
  const chain = /^RPC_URLS_(.*)/.exec(name)?.[1];
  if (chain === undefined) return Math.floor(name.length / lettersPerMistake);
  return chain.length < 4 ? 0 : 1;
}

/** The number of letters to change, add, remove or swap with their neighbour (Damerau–Levenshtein). */
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
    const read = (text: string | undefined) => toNumber((variable as z.ZodType).safeParse(text).data);
    const [usual, chosen] = [read(undefined), read(given[name])];
    if (usual === undefined || chosen === undefined || usual <= 0 || chosen < manyTimes * usual) return [];
    return [`${name} is ${Math.floor(chosen / usual)} times the usual ${usual}: as good as no limit`];
  });
}

/** Amounts are in millionths of a dollar. */
function toNumber(value: unknown): number | undefined {
  if (typeof value === 'bigint') return Number(value) / 1_000_000;
  return typeof value === 'number' ? value : undefined;
}

/** Names that were settings once, with the value that holds now. An operator who still sets one is told at start. */
export const removedSettings: Readonly<Record<string, string>> = {
  CARRY_HOME_MINIMUM: 'deposits are carried home from 25 USDC on Ethereum and from 1 USDC on other chains',
  CCTP_ATTESTATION_URL: 'Circle’s attestation service is used, and in the sandbox its own',
  DEMO_SHOP_SEARCH: 'the demo shop can be searched in every way',
  FUNDING_MAXIMUM: 'a funding link asks for at most 100000',
  GAS_LIMIT_CEILING: 'a transaction may use at most 10000000 gas',
  LONG_ANSWERS_AT_ONCE: 'a process sends at most 10 statements at once',
  LONG_ANSWERS_PER_ACCOUNT: 'an account is sent at most 2 statements at once',
  LONG_ANSWER_PATIENCE_SECONDS: 'a client may stop reading a statement for 30 seconds',
  MAILS_PER_DAY: 'at most 20000 codes are mailed on a day',
  MAILS_PER_DAY_PER_MAILBOX: 'at most 10 codes are mailed to one mailbox on a day',
  MAILS_PER_DAY_PER_NETWORK: 'at most 100 codes are mailed on a day for one network',
  MIGRATION_LOCK_SECONDS: 'a migration waits 2 seconds for a lock',
  MIGRATION_PATIENCE_SECONDS: 'a migration goes on trying for 600 seconds',
  NANO_PAY_HOLD_SECONDS: 'money is held for a seller for at most 300 seconds',
  NANO_PAY_TIMEOUT_SECONDS: 'a seller has 20 seconds for each answer',
  NANO_SETTLE_SECONDS: 'payments for calls gather for 60 seconds, in the sandbox for 5',
  ORDER_ANSWER_SECONDS: 'a purchase waits 10 seconds for the shop',
  ORDER_DEADLINE_SECONDS: 'a shop has 900 seconds to take an order',
  ORDER_LAST_DEADLINE_SECONDS: 'a shop that may have taken an order has 86400 seconds to say so',
  ORDER_REDEMPTIONS_PER_MINUTE: 'a shop may send 600 signed requests a minute',
  PASSWORD_RESETS_PER_DAY: 'at most 5000 password resets are mailed on a day',
  PASSWORD_RESETS_PER_DAY_PER_NETWORK: 'at most 20 password resets are taken from one network on a day',
  PASSWORD_RESETS_PER_HOUR_PER_MAILBOX: 'at most 3 password resets are mailed to one mailbox in an hour',
  RATE_LIMIT_ADDRESS_PER_MINUTE:
    'all keys from one address share 6000 requests a minute, in the sandbox without a limit',
  RATE_LIMIT_NETWORK_PER_MINUTE: 'it is four times RATE_LIMIT_ANONYMOUS_PER_MINUTE',
  RATE_LIMIT_PAGES_PER_MINUTE: 'it is twenty times RATE_LIMIT_ANONYMOUS_PER_MINUTE',
  REGISTRATIONS_PER_DAY_PER_NETWORK:
    'one network registers at most 200 accounts on a day, in the sandbox without a limit',
  SANDBOX_ON_RAMP: 'the card company of the sandbox is always there',
  SIGN_IN_LONGEST_DELAY_SECONDS: 'the wait after wrong passwords grows to 6 seconds',
  SMS_PER_DAY: 'at most 1000 codes are sent by SMS on a day',
  SMS_PER_DAY_PER_COUNTRY: 'at most 200 codes are sent by SMS to one country on a day',
  SMS_PER_DAY_PER_NETWORK: 'at most 10 codes are sent by SMS on a day for one network',
  SMS_PER_DAY_PER_NUMBER: 'at most 5 codes are sent by SMS to one number on a day',
  SWAP_DEADLINE_SECONDS: 'a swap has 1200 seconds',
  TIP_CEILING_GWEI: 'the highest tip of each chain is fixed',
  WITHDRAWAL_ALLOW_LIST_DELAY_HOURS: 'a new address on an allow-list waits 24 hours',
};
