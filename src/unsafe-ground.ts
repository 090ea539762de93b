import { isPlainHttp } from './chains/plain-http.ts';
import { isInTheClear } from './db/in-the-clear.ts';
import { whyGuessable } from './guessable.ts';
import { parseRanges, trustsEverybody } from './http/trusted-proxies.ts';
import { isLoopback } from './loopback.ts';
import { parseUrl } from './parse-url.ts';
import { type Given, missing } from './settings.ts';

/** What is looked at of the service's own variables; those of the rate limits are numbers. */
interface Ground extends Readonly<Record<string, unknown>> {
  readonly DATABASE_URL?: string | undefined;
  readonly MIGRATION_DATABASE_URL?: string | undefined;
  readonly REDIS_URL?: string | undefined;
  readonly PUBLIC_URL?: string | undefined;
  readonly PAYWRIGHT_SECRET?: string | undefined;
  readonly PAYWRIGHT_SECRET_FILE?: string | undefined;
  readonly PAYWRIGHT_SECRET_NEXT?: string | undefined;
  readonly PAYWRIGHT_SECRET_NEXT_FILE?: string | undefined;
}

/** What live mode looks at beside the environment. */
export interface Machine {
  readonly isRoot: boolean;
  readFile(path: string): string;
}

/** What keeps live mode from starting in the settings of the service itself, a sentence each. */
export function unsafeGround(env: Ground, given: Given, machine: Machine): readonly string[] {
  return [
    ...missingGround(env),
    ...unsafeNodes(env),
    ...unsafePlaces(env),
    ...unsafeSecret(env, machine),
    ...unsafeDoors(env, given, machine),
  ];
}

function missingGround(env: Ground): string[] {
  return missing(env, {
    DATABASE_URL: 'the PostgreSQL that holds the ledger',
    PUBLIC_URL: 'the https address that people and agents reach the service at',
    RPC_URLS_MATIC: 'where to reach Polygon: a comma-separated list of RPC addresses',
  });
}

/** The addresses are not repeated: they often hold a key. */
function unsafeNodes(env: Ground): string[] {
  return Object.entries(env).flatMap(([name, urls]) =>
    /^RPC_URLS_/.test(name) && Array.isArray(urls) && urls.some(isPlainHttp)
      ? [`${name} is unsafe: every address must begin with https://, unless it is on this machine`]
      : [],
  );
}

/** What we tell them is worth money to whoever reads it on the way, and what they tell us to whoever changes it. */
function unsafePlaces({ DATABASE_URL, MIGRATION_DATABASE_URL, REDIS_URL, PUBLIC_URL }: Ground): string[] {
  const problems: string[] = [];
  if (PUBLIC_URL?.startsWith('http:')) problems.push('PUBLIC_URL is unsafe: it must begin with https://');
  for (const [name, url] of Object.entries({ DATABASE_URL, MIGRATION_DATABASE_URL })) {
    if (url !== undefined && isInTheClear(url)) {
      problems.push(`${name} is unsafe: over a network it needs TLS that is checked, such as sslmode=verify-full`);
    }
  }
  const redis = parseUrl(REDIS_URL ?? '');
  if (redis?.protocol === 'redis:' && !isLoopback(redis.hostname)) {
    problems.push('REDIS_URL is unsafe: over a network it must begin with rediss://');
  }
  return problems;
}

function unsafeSecret(env: Ground, machine: Machine): string[] {
  if (env.PAYWRIGHT_SECRET === undefined && env.PAYWRIGHT_SECRET_FILE === undefined) {
    return ['PAYWRIGHT_SECRET is missing: it protects API keys and the wallet seed (or PAYWRIGHT_SECRET_FILE)'];
  }
  // The one that goes may be a bad one, which may be why it goes.
  return [
    ...guessableSetting('PAYWRIGHT_SECRET', env.PAYWRIGHT_SECRET, env.PAYWRIGHT_SECRET_FILE, machine),
    ...guessableSetting('PAYWRIGHT_SECRET_NEXT', env.PAYWRIGHT_SECRET_NEXT, env.PAYWRIGHT_SECRET_NEXT_FILE, machine),
  ];
}

function guessableSetting(
  name: string,
  secret: string | undefined,
  file: string | undefined,
  { readFile }: Machine,
): string[] {
  if (secret !== undefined) return guessable(name, secret);
  if (file === undefined) return [];
  try {
    return guessable(`${name}_FILE`, readFile(file).trim());
  } catch (error) {
    return [`${name}_FILE cannot be read: ${(error as Error).message}`];
  }
}

function guessable(name: string, secret: string): string[] {
  const why = whyGuessable(secret);
  return why === undefined ? [] : [`${name} is unsafe: ${why}. Take the output of: openssl rand -base64 32`];
}

function unsafeDoors(env: Ground, given: Given, { isRoot }: Machine): string[] {
  const problems = Object.entries(env).flatMap(([name, value]) =>
    /^RATE_LIMIT_/.test(name) && value === 0 ? [`${name} is unsafe: 0 would be no limit at all`] : [],
  );
  if (trustsEverybody(parseRanges(given['TRUSTED_PROXIES'] ?? '') ?? [])) {
    problems.push('TRUSTED_PROXIES is unsafe: with ranges that wide anybody chooses the address they are counted by');
  }
  if (given['ALLOW_PRIVATE_HOSTS'] !== undefined) {
    problems.push('ALLOW_PRIVATE_HOSTS is unsafe: it belongs to the sandbox');
  }
  if (given['NODE_TLS_REJECT_UNAUTHORIZED'] === '0') {
    problems.push('NODE_TLS_REJECT_UNAUTHORIZED=0 is unsafe: certificates would not be checked');
  }
  if (isRoot) problems.push('The user is unsafe: run it as one of its own, not as root');
  return problems;
}
