import { isIP } from 'node:net';
import { isPlainHttp } from '../chains/plain-http.ts';
import { isUnencrypted } from '../kernel/db/unencrypted-connection.ts';
import { coversPublicInternet, parseRanges } from '../kernel/http/trusted-proxies.ts';
import { isLoopback } from '../kernel/loopback.ts';
import { isPublicAddress } from '../kernel/outgoing/public-address.ts';
import { type Given, missing } from '../kernel/settings.ts';
import { urlsOfHosts } from '../kernel/several-hosts.ts';
import { parseUrl } from '../kernel/text/parse-url.ts';
import { type Asset, assets, chains, homeChain } from '../money/catalogue.ts';
import { whyGuessable } from './guessable.ts';
import type { ServiceEnvironment } from './service-variables.ts';

/** What live mode checks besides the environment. */
export interface Machine {
  readonly isRoot: boolean;
  readFile(path: string): string;
}

/** Reasons not to start in live mode because of the service's own settings, one sentence each. */
export function unsafeSettings(env: ServiceEnvironment, given: Given, machine: Machine): readonly string[] {
  return [
    ...missingGround(env),
    ...unsafeNodes(env),
    ...unsafePlaces(env),
    ...unsafeAddress(env),
    ...unsafeToken(env),
    ...unsafeSecret(env, given, machine),
    ...unsafeDoors(env, given, machine),
  ];
}

function missingGround(env: ServiceEnvironment): string[] {
  return missing(env, {
    DATABASE_URL: 'the PostgreSQL that holds the ledger',
    PUBLIC_URL: 'the https address that people and agents reach the service at',
    RPC_URLS_MATIC: 'where to reach Polygon: a comma-separated list of RPC addresses',
  });
}

/** The URLs are not repeated in the message, because they often contain an API key. */
function unsafeNodes(env: ServiceEnvironment): string[] {
  return Object.entries(env).flatMap(([name, urls]) =>
    /^RPC_URLS_/.test(name) && Array.isArray(urls) && urls.some(isPlainHttp)
      ? [`${name} is unsafe: every address must begin with https://, unless it is on this machine`]
      : [],
  );
}

/** A network attacker could read or change this traffic, and with it the money. */
function unsafePlaces(env: ServiceEnvironment): string[] {
  const { DATABASE_URL, DATABASE_READ_URL, MIGRATION_DATABASE_URL, REDIS_URL, PUBLIC_URL } = env;
  const problems: string[] = [];
  if (PUBLIC_URL?.startsWith('http:')) problems.push('PUBLIC_URL is unsafe: it must begin with https://');
  for (const [name, url] of Object.entries({ DATABASE_URL, DATABASE_READ_URL, MIGRATION_DATABASE_URL })) {
    if (url !== undefined && isUnencrypted(url)) {
      problems.push(`${name} is unsafe: over a network it needs TLS that is checked, such as sslmode=verify-full`);
    }
  }
  const redis = urlsOfHosts(REDIS_URL ?? '').map((one) => parseUrl(one));
  if (
    redis.some((one) => one !== undefined && /^redis(\+sentinel)?:$/.test(one.protocol) && !isLoopback(one.hostname))
  ) {
    problems.push('REDIS_URL is unsafe: over a network it must begin with rediss:// or rediss+sentinel://');
  }
  return problems;
}

/** Names that public DNS does not know. */
const insideNames = /\.(?:localhost|localdomain|local|internal|intranet|home\.arpa|home|lan|corp)$/;

/** It appears in public links and in signed texts. */
function unsafeAddress({ PUBLIC_URL }: ServiceEnvironment): string[] {
  const address = parseUrl(PUBLIC_URL ?? '');
  if (address === undefined) return [];
  const host = address.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
  const isInside = isIP(host) !== 0 ? !isPublicAddress(host) : !host.includes('.') || insideNames.test(host);
  return [
    ...(address.username !== '' || address.password !== ''
      ? ['PUBLIC_URL is unsafe: it must not hold a password']
      : []),
    ...(isInside ? ['PUBLIC_URL is unsafe: this address cannot be reached from outside your network'] : []),
  ];
}

const homeTokens = Object.entries(chains[homeChain].tokens);

/** Tokens on Polygon that are not worth a euro. */
const otherTokens: Readonly<Record<string, string>> = {
  ...Object.fromEntries(homeTokens.map(([asset, address]) => [assets[asset as Asset].token.symbol, address])),
  'USDC.e': '0x2791Bca1f2de4661ED88A30C99A7a9449Aa84174',
  USDT: '0xc2132D05D31c914a87C6611C10748AEb04B58e8F',
  WBTC: '0x1BFD67037B42Cf73acF2047067bd4F2C47D9BfD6',
};

function unsafeToken({ EURC_ADDRESS_MATIC: address }: ServiceEnvironment): string[] {
  if (address === undefined) return [];
  if (BigInt(address) === 0n) return ['EURC_ADDRESS_MATIC is unsafe: there is no contract at the zero address'];
  const other = Object.entries(otherTokens).find(([, token]) => BigInt(token) === BigInt(address))?.[0];
  return other === undefined ? [] : [`EURC_ADDRESS_MATIC is unsafe: it is the address of ${other}`];
}

/** PAYWRIGHT_SECRET_OLD is not checked: a weak secret may be the reason to replace it. */
function unsafeSecret(env: ServiceEnvironment, given: Given, machine: Machine): string[] {
  if (env.PAYWRIGHT_SECRET === undefined && env.PAYWRIGHT_SECRET_FILE === undefined) {
    return ['PAYWRIGHT_SECRET is missing: it protects API keys and the wallet seed (or PAYWRIGHT_SECRET_FILE)'];
  }
  const passwords = passwordsIn(env, given);
  return (['PAYWRIGHT_SECRET', 'PAYWRIGHT_SECRET_NEXT'] as const).flatMap((name) => {
    const file = env[`${name}_FILE`];
    const setting = env[name] === undefined ? `${name}_FILE` : name;
    let secret = env[name];
    try {
      if (file !== undefined) secret ??= machine.readFile(file).trim();
    } catch (error) {
      return [`${setting} cannot be read: ${(error as Error).message}`];
    }
    if (secret === undefined) return [];
    const why = whyGuessable(secret);
    return [
      ...passwords
        .filter(({ values }) => values.some((value) => value !== '' && value.trim() === secret.trim()))
        .map(({ from }) => `${setting} is unsafe: it is the password of ${from}`),
      ...(why === undefined ? [] : [`${setting} is unsafe: ${why}. Generate one with: paywright secret`]),
    ];
  });
}

/** A secret that is also a password would be known to everyone who can read the database's configuration. */
function passwordsIn(env: ServiceEnvironment, given: Given) {
  return [
    ...(['DATABASE_URL', 'DATABASE_READ_URL', 'MIGRATION_DATABASE_URL', 'REDIS_URL'] as const).map((from) => {
      const url = parseUrl(env[from] ?? '');
      const written = url?.password ?? '';
      return { from, values: [written, decodeText(written), ...(url?.searchParams.getAll('password') ?? [])] };
    }),
    { from: 'PGPASSWORD', values: [given['PGPASSWORD'] ?? ''] },
  ];
}

function decodeText(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function unsafeDoors(env: ServiceEnvironment, given: Given, { isRoot }: Machine): string[] {
  const problems = Object.entries(env).flatMap(([name, value]) =>
    /^RATE_LIMIT_/.test(name) && value === 0 ? [`${name} is unsafe: 0 would be no limit at all`] : [],
  );
  if (coversPublicInternet(parseRanges(given['TRUSTED_PROXIES'] ?? '') ?? [])) {
    problems.push(
      'TRUSTED_PROXIES is unsafe: with ranges that wide, clients can forge the address that their requests are counted by',
    );
  }
  if (given['ALLOW_PRIVATE_HOSTS'] !== undefined) {
    problems.push('ALLOW_PRIVATE_HOSTS is unsafe: it belongs to the sandbox');
  }
  if (given['NODE_TLS_REJECT_UNAUTHORIZED'] === '0') {
    problems.push('NODE_TLS_REJECT_UNAUTHORIZED=0 is unsafe: certificates would not be checked');
  }
  // Node accepts an underscore in place of a dash in option names.
  const options = /--(?:inspect|insecure[-_]http[-_]parser)[a-z_-]*/.exec(given['NODE_OPTIONS'] ?? '')?.[0];
  if (options !== undefined) problems.push(`NODE_OPTIONS is unsafe: ${options} opens the process to others`);
  if (isRoot) problems.push('The user is unsafe: run the service as a user of its own, not as root');
  return problems;
}
