import { BlockList, isIP } from 'node:net';
import { resolve } from 'node:path';
import { z } from 'zod';
import { type ChainId, chainIds } from './chains/chains.ts';
import { type HostAndPort, parsePrivateHosts } from './outgoing/private-hosts.ts';
import { Refusal } from './refusal.ts';

/**
 * The environment, read once. Nothing else in the service looks at process.env. An empty variable counts as unset.
 */
const wholeNumber = (from: number, to: number, fallback: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, `must be a whole number from ${from} to ${to}`)
    .transform(Number)
    .refine((value) => value >= from && value <= to, `must be a whole number from ${from} to ${to}`)
    .default(fallback);

const url = (...protocols: string[]) =>
  z.string().refine((text) => URL.canParse(text) && protocols.includes(new URL(text).protocol), {
    error: `must be a URL that begins with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`,
  });

const urlList = z
  .string()
  .transform((text) => text.split(',').map((part) => part.trim()))
  .refine((list) => list.every((part) => URL.canParse(part) && /^https?:$/.test(new URL(part).protocol)), {
    error: 'must be a comma-separated list of URLs that begin with http:// or https://',
  });

const perMinute = (fallback: number) => wholeNumber(0, 1_000_000, fallback);

/** Seconds before each retry of a webhook: one to three of them, fractions too. */
const retrySeconds = z
  .string()
  .regex(/^\s*\d{1,5}(\.\d{1,3})?\s*(,\s*\d{1,5}(\.\d{1,3})?\s*){0,2}$/, {
    error: 'must be one to three numbers of seconds, comma-separated',
  })
  .transform((text) => text.split(',').map(Number))
  .refine((list) => list.every((seconds) => seconds <= 86_400), 'must hold no more than 86400 seconds each')
  .default([10, 60, 360]);

const environment = z.object({
  PAYWRIGHT_MODE: z.enum(['sandbox', 'live'], { error: 'must be sandbox or live' }).default('sandbox'),
  HOST: z.string().max(255, 'must be an address of this machine').default('127.0.0.1'),
  PORT: wholeNumber(0, 65_535, 8402),
  PUBLIC_URL: url('http:', 'https:')
    .refine((text) => /^[^?#]*$/.test(text), 'must not contain a query or a fragment')
    .transform((text) => text.replace(/\/+$/, ''))
    .optional(),
  DATA_DIR: z
    .string()
    .default('.paywright')
    .transform((path) => resolve(path)),
  DATABASE_URL: url('postgres:', 'postgresql:').optional(),
  DATABASE_POOL_SIZE: wholeNumber(2, 500, 20),
  REDIS_URL: url('redis:', 'rediss:').optional(),
  LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
      error: 'must be trace, debug, info, warn, error, fatal or silent',
    })
    .optional(),
  PAYWRIGHT_SECRET: z.string().min(32, 'must be at least 32 characters').optional(),
  PAYWRIGHT_SECRET_FILE: z.string().optional(),
  SMTP_URL: url('smtp:', 'smtps:').optional(),
  MAIL_FROM: z.string().max(320).optional(),
  TWILIO_ACCOUNT_SID: z.string().optional(),
  TWILIO_AUTH_TOKEN: z.string().optional(),
  TWILIO_FROM: z.string().optional(),
  WALLET_PROVIDER: z.enum(['keys', 'circle'], { error: 'must be keys or circle' }).default('keys'),
  CIRCLE_API_KEY: z.string().optional(),
  CIRCLE_ENTITY_SECRET: z
    .string()
    .regex(/^[0-9a-fA-F]{64}$/, 'must be 64 hexadecimal characters')
    .optional(),
  CIRCLE_BASE_URL: url('http:', 'https:').optional(),
  RPC_URLS_MATIC: urlList.optional(),
  RPC_URLS_ETH: urlList.optional(),
  RPC_URLS_ARB: urlList.optional(),
  RPC_URLS_BASE: urlList.optional(),
  RPC_URLS_AVAX: urlList.optional(),
  RPC_URLS_OP: urlList.optional(),
  EURC_ADDRESS_MATIC: z
    .string()
    .regex(/^0x[0-9a-fA-F]{40}$/, 'must be the address of a contract')
    .transform((text) => text as `0x${string}`)
    .optional(),
  DENY_LIST_FILE: z.string().optional(),
  RATE_LIMIT_FREE_PER_MINUTE: perMinute(60),
  RATE_LIMIT_PRO_PER_MINUTE: perMinute(300),
  RATE_LIMIT_ANONYMOUS_PER_MINUTE: perMinute(30),
  ALLOW_PRIVATE_HOSTS: z.string().default('').transform(toPrivateHosts),
  WEBHOOK_RETRY_SECONDS: retrySeconds,
  TRUSTED_PROXIES: z.string().default('').transform(toBlockList),
  SANDBOX_AUTO_VERIFY: z
    .enum(['true', 'false'], { error: 'must be true or false' })
    .default('true')
    .transform((text) => text === 'true'),
});

type Environment = z.infer<typeof environment>;

/** Variables whose value may be repeated in an error message. Everything else might hold a password. */
const harmless = new Set([
  'PAYWRIGHT_MODE',
  'HOST',
  'PORT',
  'LOG_LEVEL',
  'DATABASE_POOL_SIZE',
  'WALLET_PROVIDER',
  'EURC_ADDRESS_MATIC',
  'RATE_LIMIT_FREE_PER_MINUTE',
  'RATE_LIMIT_PRO_PER_MINUTE',
  'RATE_LIMIT_ANONYMOUS_PER_MINUTE',
  'ALLOW_PRIVATE_HOSTS',
  'WEBHOOK_RETRY_SECONDS',
  'TRUSTED_PROXIES',
  'SANDBOX_AUTO_VERIFY',
]);

export interface Config {
  readonly mode: 'sandbox' | 'live';
  readonly host: string;
  readonly port: number;
  /** Unset until the server listens when neither PUBLIC_URL nor a fixed PORT names it. */
  readonly publicUrl: string | undefined;
  readonly dataDir: string;
  readonly databaseUrl: string | undefined;
  readonly databasePoolSize: number;
  readonly redisUrl: string | undefined;
  readonly logLevel: NonNullable<Environment['LOG_LEVEL']>;
  readonly secret: string | undefined;
  readonly secretFile: string | undefined;
  readonly mail: { readonly smtpUrl: string; readonly from: string } | undefined;
  readonly sms: { readonly accountSid: string; readonly authToken: string; readonly from: string } | undefined;
  readonly wallets: WalletConfig;
  /** Where to reach each chain, in order of preference. A chain without an entry is off. Empty in the sandbox. */
  readonly rpcUrls: ReadonlyMap<ChainId, readonly string[]>;
  /** Circle issues no EURC on Polygon: an operator may name a contract. */
  readonly eurcOnPolygon: `0x${string}` | undefined;
  /** Addresses that no money may go to, one a line. */
  readonly denyListFile: string | undefined;
  readonly rateLimits: RateLimitConfig;
  /** How long to wait before each retry of a webhook delivery. */
  readonly webhookRetrySeconds: readonly number[];
  readonly trustedProxies: BlockList;
  /** What outgoing requests may reach although it is private or http. Only ever filled in the sandbox. */
  readonly allowPrivateHosts: readonly HostAndPort[];
  /** Emails and phone numbers count as verified at once. Only ever true in the sandbox. */
  readonly autoVerify: boolean;
}

/** Who holds the keys of wallets. */
type WalletConfig =
  | { readonly provider: 'keys' }
  | {
      readonly provider: 'circle';
      readonly apiKey: string;
      readonly entitySecret: string;
      /** Circle's own servers when it is not set. */
      readonly baseUrl: string | undefined;
    };

/** Requests a minute; 0 is unlimited. */
export interface RateLimitConfig {
  readonly free: number;
  readonly pro: number;
  readonly anonymous: number;
}

export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ''));
  const parsed = environment.safeParse(given);
  if (!parsed.success) throw new Refusal(describeIssues(parsed.error.issues, given));
  if (parsed.data.PAYWRIGHT_MODE === 'live') refuseUnsafeLive(parsed.data, given);
  return toConfig(parsed.data);
}

function toConfig(env: Environment): Config {
  const { SMTP_URL, MAIL_FROM, TWILIO_ACCOUNT_SID, TWILIO_AUTH_TOKEN, TWILIO_FROM } = env;
  const sandbox = env.PAYWRIGHT_MODE === 'sandbox';
  return {
    mode: env.PAYWRIGHT_MODE,
    host: env.HOST,
    port: env.PORT,
    publicUrl: env.PUBLIC_URL ?? (env.PORT === 0 ? undefined : `http://127.0.0.1:${env.PORT}`),
    dataDir: env.DATA_DIR,
    databaseUrl: env.DATABASE_URL,
    databasePoolSize: env.DATABASE_POOL_SIZE,
    redisUrl: env.REDIS_URL,
    logLevel: env.LOG_LEVEL ?? (sandbox ? 'warn' : 'info'),
    secret: env.PAYWRIGHT_SECRET,
    secretFile: env.PAYWRIGHT_SECRET_FILE,
    mail: SMTP_URL && MAIL_FROM ? { smtpUrl: SMTP_URL, from: MAIL_FROM } : undefined,
    sms:
      TWILIO_ACCOUNT_SID && TWILIO_AUTH_TOKEN && TWILIO_FROM
        ? { accountSid: TWILIO_ACCOUNT_SID, authToken: TWILIO_AUTH_TOKEN, from: TWILIO_FROM }
        : undefined,
    wallets: toWalletConfig(env),
    rpcUrls: new Map(
      chainIds.flatMap((id) => (env[`RPC_URLS_${id}`] ? [[id, env[`RPC_URLS_${id}`] ?? []] as const] : [])),
    ),
    eurcOnPolygon: env.EURC_ADDRESS_MATIC,
    denyListFile: env.DENY_LIST_FILE,
    rateLimits: {
      free: env.RATE_LIMIT_FREE_PER_MINUTE,
      pro: env.RATE_LIMIT_PRO_PER_MINUTE,
      anonymous: env.RATE_LIMIT_ANONYMOUS_PER_MINUTE,
    },
    webhookRetrySeconds: env.WEBHOOK_RETRY_SECONDS,
    trustedProxies: env.TRUSTED_PROXIES,
    allowPrivateHosts: sandbox ? env.ALLOW_PRIVATE_HOSTS : [],
    autoVerify: sandbox && env.SANDBOX_AUTO_VERIFY,
  };
}

function toWalletConfig({
  WALLET_PROVIDER,
  CIRCLE_API_KEY,
  CIRCLE_ENTITY_SECRET,
  CIRCLE_BASE_URL,
}: Environment): WalletConfig {
  if (WALLET_PROVIDER === 'keys') return { provider: 'keys' };
  if (CIRCLE_API_KEY === undefined || CIRCLE_ENTITY_SECRET === undefined) {
    throw new Refusal('WALLET_PROVIDER is circle, which needs CIRCLE_API_KEY and CIRCLE_ENTITY_SECRET.');
  }
  return {
    provider: 'circle',
    apiKey: CIRCLE_API_KEY,
    entitySecret: CIRCLE_ENTITY_SECRET,
    baseUrl: CIRCLE_BASE_URL,
  };
}

/** Live mode names everything that is missing or unsafe at once, so that an operator mends it in one go. */
function refuseUnsafeLive(env: Environment, given: Readonly<Record<string, string | undefined>>): void {
  const problems: string[] = [];
  const require = (name: keyof Environment, why: string) => {
    if (env[name] === undefined) problems.push(`${name} is missing: ${why}`);
  };
  require('DATABASE_URL', 'the PostgreSQL that holds the ledger');
  require('PUBLIC_URL', 'the https address that people and agents reach the service at');
  require('SMTP_URL', 'the mail server that sends verification codes');
  require('MAIL_FROM', 'the sender of those mails');
  require('TWILIO_ACCOUNT_SID', 'the account that sends verification codes by SMS');
  require('TWILIO_AUTH_TOKEN', 'the token of that account');
  require('TWILIO_FROM', 'the number that those messages come from');
  require('RPC_URLS_MATIC', 'where to reach Polygon: a comma-separated list of RPC addresses');
  if (env.WALLET_PROVIDER === 'circle') {
    require('CIRCLE_API_KEY', 'the key of your Circle account');
    require('CIRCLE_ENTITY_SECRET', 'the entity secret that you registered with Circle');
    if (env.CIRCLE_BASE_URL?.startsWith('http:')) {
      problems.push('CIRCLE_BASE_URL is unsafe: it must begin with https://');
    }
  }
  if (env.PAYWRIGHT_SECRET === undefined && env.PAYWRIGHT_SECRET_FILE === undefined) {
    problems.push('PAYWRIGHT_SECRET is missing: it protects API keys and the wallet seed (or PAYWRIGHT_SECRET_FILE)');
  }
  if (env.PUBLIC_URL?.startsWith('http:')) problems.push('PUBLIC_URL is unsafe: it must begin with https://');
  if (given['SANDBOX_AUTO_VERIFY'] !== undefined) {
    problems.push('SANDBOX_AUTO_VERIFY is unsafe: it belongs to the sandbox');
  }
  if (given['ALLOW_PRIVATE_HOSTS'] !== undefined) {
    problems.push('ALLOW_PRIVATE_HOSTS is unsafe: it belongs to the sandbox');
  }
  if (given['NODE_TLS_REJECT_UNAUTHORIZED'] === '0') {
    problems.push('NODE_TLS_REJECT_UNAUTHORIZED=0 is unsafe: certificates would not be checked');
  }
  if (problems.length > 0) {
    throw new Refusal(
      `Live mode does not start until this is mended:\n${problems.map((line) => `  - ${line}`).join('\n')}`,
    );
  }
}

function describeIssues(
  issues: readonly z.core.$ZodIssue[],
  given: Readonly<Record<string, string | undefined>>,
): string {
  const sentences = issues.map((issue) => {
    const name = String(issue.path[0]);
    const value = harmless.has(name) ? ` (it is "${given[name]}")` : '';
    return `${name} ${issue.message}${value}.`;
  });
  return [...new Set(sentences)].join('\n');
}

function toPrivateHosts(text: string, context: z.RefinementCtx): readonly HostAndPort[] {
  const places = parsePrivateHosts(text);
  if (places === undefined) context.addIssue('must be a comma-separated list of exact places such as 127.0.0.1:9000');
  return places ?? [];
}

function toBlockList(text: string, context: z.RefinementCtx): BlockList {
  const list = new BlockList();
  for (const part of text
    .split(',')
    .map((piece) => piece.trim())
    .filter(Boolean)) {
    const [address = '', prefix] = part.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    const widest = family === 'ipv6' ? 128 : 32;
    if (isIP(address) === 0 || (prefix !== undefined && !(/^\d{1,3}$/.test(prefix) && Number(prefix) <= widest))) {
      context.addIssue('must be a comma-separated list of IP addresses and CIDR ranges');
      return list;
    }
    if (prefix === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(prefix), family);
  }
  return list;
}
