import type { BlockList } from 'node:net';
import { resolve } from 'node:path';
import { z } from 'zod';
import { parseRanges, toBlockList } from '../kernel/http/trusted-proxies.ts';
import { type HostAndPort, parsePrivateHosts } from '../kernel/outgoing/private-hosts.ts';
import type { RateLimitConfig } from '../kernel/rate-limit/rate-limit-config.ts';
import { Refusal } from '../kernel/refusal.ts';
import { refuseTwice } from '../kernel/refuse-twice.ts';
import { type Given, type Mode, notGiven, orUsual, type Settings, url, wholeNumber } from '../kernel/settings.ts';
import { parseUrl } from '../kernel/text/parse-url.ts';
import { type ChainId, chainIds } from '../money/catalogue.ts';
import { suspiciousSettings } from './suspicious-settings.ts';
import { type Machine, unsafeGround } from './unsafe-ground.ts';

const urlList = z
  .string()
  .transform((text) => text.split(',').map((part) => part.trim()))
  .refine((list) => list.every((part) => /^https?:$/.test(parseUrl(part)?.protocol ?? '')), {
    error: 'must be a comma-separated list of URLs that begin with http:// or https://',
  });

const perMinute = (fallback: number) => wholeNumber(0, 1_000_000, fallback);

/** RPC_URLS_MATIC and so on, one for each chain. */
const rpcUrls = Object.fromEntries(chainIds.map((id) => [`RPC_URLS_${id}`, urlList.optional()])) as Record<
  `RPC_URLS_${ChainId}`,
  z.ZodOptional<typeof urlList>
>;

/** What the service needs before any feature does. */
const ground = {
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
  MIGRATION_DATABASE_URL: url('postgres:', 'postgresql:').optional(),
  MIGRATION_LOCK_SECONDS: wholeNumber(1, 30, 2),
  MIGRATION_PATIENCE_SECONDS: wholeNumber(0, 86_400, 600),
  REDIS_URL: url('redis:', 'rediss:').optional(),
  LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
      error: 'must be trace, debug, info, warn, error, fatal or silent',
    })
    .optional(),
  PAYWRIGHT_SECRET: z.string().min(32, 'must be at least 32 characters').optional(),
  PAYWRIGHT_SECRET_FILE: z.string().optional(),
  PAYWRIGHT_SECRET_OLD: z.string().optional(),
  PAYWRIGHT_SECRET_OLD_FILE: z.string().optional(),
  PAYWRIGHT_SECRET_NEXT: z.string().min(32, 'must be at least 32 characters').optional(),
  PAYWRIGHT_SECRET_NEXT_FILE: z.string().optional(),
  ...rpcUrls,
  EURC_ADDRESS_MATIC: z
    .string()
    .regex(/^0x[0-9a-fA-F]{40}$/, 'must be the address of a contract')
    .transform((text) => text as `0x${string}`)
    .optional(),
  RATE_LIMIT_FREE_PER_MINUTE: perMinute(60),
  RATE_LIMIT_PRO_PER_MINUTE: perMinute(300),
  RATE_LIMIT_ANONYMOUS_PER_MINUTE: perMinute(30),
  RATE_LIMIT_NETWORK_PER_MINUTE: perMinute(120),
  RATE_LIMIT_PAGES_PER_MINUTE: perMinute(600),
  RATE_LIMIT_ADDRESS_PER_MINUTE: perMinute(notGiven),
  ALLOW_PRIVATE_HOSTS: z.string().default('').transform(toPrivateHosts),
  TRUSTED_PROXIES: z.string().default('').transform(toProxies),
};

type Environment = z.output<z.ZodObject<typeof ground>>;

/** Variables whose value may be repeated in an error message. Everything else might hold a password. */
const harmless = [
  'PAYWRIGHT_MODE',
  'HOST',
  'PORT',
  'LOG_LEVEL',
  'DATABASE_POOL_SIZE',
  'MIGRATION_LOCK_SECONDS',
  'MIGRATION_PATIENCE_SECONDS',
  'EURC_ADDRESS_MATIC',
  'RATE_LIMIT_FREE_PER_MINUTE',
  'RATE_LIMIT_PRO_PER_MINUTE',
  'RATE_LIMIT_ANONYMOUS_PER_MINUTE',
  'RATE_LIMIT_NETWORK_PER_MINUTE',
  'RATE_LIMIT_PAGES_PER_MINUTE',
  'RATE_LIMIT_ADDRESS_PER_MINUTE',
  'ALLOW_PRIVATE_HOSTS',
  'TRUSTED_PROXIES',
];

export interface Config {
  readonly mode: Mode;
  readonly host: string;
  readonly port: number;
  /** Unset until the server listens when neither PUBLIC_URL nor a fixed PORT names it. */
  readonly publicUrl: string | undefined;
  readonly dataDir: string;
  readonly databaseUrl: string | undefined;
  readonly databasePoolSize: number;
  readonly redisUrl: string | undefined;
  readonly logLevel: NonNullable<Environment['LOG_LEVEL']>;
  readonly secret: SecretSetting;
  /** While one secret takes the place of another: the one to come, or the one that goes. */
  readonly nextSecret: SecretSetting;
  readonly oldSecret: SecretSetting;
  readonly migration: MigrationConfig;
  /** Where to reach each chain, in order of preference. A chain without an entry is off. Empty in the sandbox. */
  readonly rpcUrls: ReadonlyMap<ChainId, readonly string[]>;
  /** Circle issues no EURC on Polygon: an operator may name a contract. */
  readonly eurcOnPolygon: `0x${string}` | undefined;
  readonly rateLimits: RateLimitConfig;
  readonly trustedProxies: BlockList;
  /** What outgoing requests may reach although it is private or http. Only ever filled in the sandbox. */
  readonly allowPrivateHosts: readonly HostAndPort[];
  /** What an operator should look at, although the service starts with it. */
  readonly warnings: readonly string[];
  /** What each feature has read, by the feature's name. */
  readonly settings: ReadonlyMap<string, unknown>;
}

/** As text, or in a file that only we can read. */
export interface SecretSetting {
  readonly name: string;
  readonly text: string | undefined;
  readonly file: string | undefined;
}

interface MigrationConfig {
  /** Of the role that owns the tables, when the service itself is another one. */
  readonly databaseUrl: string | undefined;
  /** How long a migration waits for one lock before it lets everybody past and tries again. */
  readonly lockMs: number;
  /** How long it goes on trying. */
  readonly patienceMs: number;
}

/** Something that declares settings of its own. */
interface Declaring {
  readonly name: string;
  readonly settings?: Settings<unknown>;
}

/**
 * The environment, read once: nothing else in the service looks at process.env. An empty variable counts as unset. What
 * the service itself needs stands here; each feature declares the rest.
 */
export function composeConfig(env: Given, declaring: readonly Declaring[], machine: Machine): Config {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ''));
  refuseTwice(
    'feature',
    declaring.map(({ name }) => name),
  );
  const declared = declaring.flatMap(({ settings }) => settings ?? []);
  const variables = { ...ground, ...variablesOf(declared) };
  const parsed = z.object(variables).safeParse(given);
  if (!parsed.success) throw new Refusal(describeIssues(parsed.error.issues, given, declared));
  const values = parsed.data;
  if (values.PAYWRIGHT_MODE === 'live') {
    refuseUnsafeLive([
      ...unsafeGround(values, given, machine),
      ...declared.flatMap((settings) => settings.refuseLive?.(values as never, given) ?? []),
    ]);
  }
  const mode = values.PAYWRIGHT_MODE;
  return {
    ...toConfig(values),
    warnings: mode === 'live' ? suspiciousSettings(given, variables) : [],
    settings: new Map(declaring.map(({ name, settings }) => [name, settings?.read(values as never, mode)])),
  };
}

function variablesOf(declared: readonly Settings<unknown>[]): z.ZodRawShape {
  const all = declared.flatMap(({ variables }) => Object.entries(variables));
  refuseTwice('variable', [...Object.keys(ground), ...all.map(([name]) => name)]);
  return Object.fromEntries(all);
}

function toConfig(env: Environment): Omit<Config, 'settings' | 'warnings'> {
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
    secret: { name: 'PAYWRIGHT_SECRET', text: env.PAYWRIGHT_SECRET, file: env.PAYWRIGHT_SECRET_FILE },
    nextSecret: {
      name: 'PAYWRIGHT_SECRET_NEXT',
      text: env.PAYWRIGHT_SECRET_NEXT,
      file: env.PAYWRIGHT_SECRET_NEXT_FILE,
    },
    oldSecret: { name: 'PAYWRIGHT_SECRET_OLD', text: env.PAYWRIGHT_SECRET_OLD, file: env.PAYWRIGHT_SECRET_OLD_FILE },
    migration: {
      databaseUrl: env.MIGRATION_DATABASE_URL,
      lockMs: env.MIGRATION_LOCK_SECONDS * 1_000,
      patienceMs: env.MIGRATION_PATIENCE_SECONDS * 1_000,
    },
    rpcUrls: new Map(
      chainIds.flatMap((id) => (env[`RPC_URLS_${id}`] ? [[id, env[`RPC_URLS_${id}`] ?? []] as const] : [])),
    ),
    eurcOnPolygon: env.EURC_ADDRESS_MATIC,
    rateLimits: {
      free: env.RATE_LIMIT_FREE_PER_MINUTE,
      pro: env.RATE_LIMIT_PRO_PER_MINUTE,
      anonymous: env.RATE_LIMIT_ANONYMOUS_PER_MINUTE,
      network: env.RATE_LIMIT_NETWORK_PER_MINUTE,
      pages: env.RATE_LIMIT_PAGES_PER_MINUTE,
      address: orUsual(env.RATE_LIMIT_ADDRESS_PER_MINUTE, sandbox ? 0 : 6_000),
    },
    trustedProxies: env.TRUSTED_PROXIES,
    allowPrivateHosts: sandbox ? env.ALLOW_PRIVATE_HOSTS : [],
  };
}

/** Live mode names everything that is missing or unsafe at once, so that an operator mends it in one go. */
function refuseUnsafeLive(problems: readonly string[]): void {
  if (problems.length === 0) return;
  throw new Refusal(
    `Live mode does not start until this is mended:\n${problems.map((line) => `  - ${line}`).join('\n')}`,
  );
}

function describeIssues(
  issues: readonly z.core.$ZodIssue[],
  given: Given,
  declared: readonly Settings<unknown>[],
): string {
  const shown = new Set([...harmless, ...declared.flatMap((settings) => settings.harmless ?? [])]);
  const sentences = issues.map((issue) => {
    const name = String(issue.path[0]);
    const value = shown.has(name) ? ` (it is "${given[name]}")` : '';
    return `${name} ${issue.message}${value}.`;
  });
  return [...new Set(sentences)].join('\n');
}

function toPrivateHosts(text: string, context: z.RefinementCtx): readonly HostAndPort[] {
  const places = parsePrivateHosts(text);
  if (places === undefined) context.addIssue('must be a comma-separated list of exact places such as 127.0.0.1:9000');
  return places ?? [];
}

function toProxies(text: string, context: z.RefinementCtx): BlockList {
  const ranges = parseRanges(text);
  if (ranges === undefined) context.addIssue('must be a comma-separated list of IP addresses and CIDR ranges');
  return toBlockList(ranges ?? []);
}
