import type { BlockList } from 'node:net';
import { resolve } from 'node:path';
import { z } from 'zod';
import { readDatabaseUrl, readReplicaUrl } from '../kernel/db/writable-client.ts';
import { parseRanges, toBlockList } from '../kernel/http/trusted-proxies.ts';
import { type HostAndPort, parsePrivateHosts } from '../kernel/outgoing/private-hosts.ts';
import { readRedisUrl } from '../kernel/rate-limit/redis-url.ts';
import { type SettingDocs, url, wholeNumber } from '../kernel/settings.ts';
import { parseUrl } from '../kernel/text/parse-url.ts';
import { type ChainId, chainIds, homeChain } from '../money/catalogue.ts';

const urlList = z
  .string()
  .transform((text) => text.split(',').map((part) => part.trim()))
  .refine((list) => list.every((part) => /^https?:$/.test(parseUrl(part)?.protocol ?? '')), {
    error: 'must be a comma-separated list of URLs that begin with http:// or https://',
  });

const databaseUrl = z.string().transform((text, context) => {
  const read = readDatabaseUrl(text);
  if (read === undefined)
    context.addIssue(
      'must be a URL that begins with postgres:// or postgresql://; with several hosts, target_session_attrs is read-write',
    );
  return read ?? z.NEVER;
});

const readUrl = z.string().transform((text, context) => {
  const read = readReplicaUrl(text);
  if (read === undefined)
    context.addIssue(
      'must be a URL that begins with postgres:// or postgresql://; its target_session_attrs may be standby, prefer-standby, read-only or any',
    );
  return read ?? z.NEVER;
});

const redisUrl = z.string().transform((text, context) => {
  const read = readRedisUrl(text);
  if (read === undefined)
    context.addIssue(
      'must be a URL that begins with redis:// or rediss://, or redis+sentinel:// or rediss+sentinel:// with the hosts of Sentinels and a name',
    );
  return read ?? z.NEVER;
});

const perMinute = (fallback: number) => wholeNumber(0, 1_000_000, fallback);

/** RPC_URLS_MATIC and so on, one for each chain. */
const rpcUrls = Object.fromEntries(chainIds.map((id) => [`RPC_URLS_${id}`, urlList.optional()])) as Record<
  `RPC_URLS_${ChainId}`,
  z.ZodOptional<typeof urlList>
>;

/** The variables of the service itself. Each feature declares its own. */
export const serviceVariables = {
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
  DATABASE_URL: databaseUrl.optional(),
  DATABASE_READ_URL: readUrl.optional(),
  DATABASE_POOL_SIZE: wholeNumber(2, 500, 20),
  MIGRATION_DATABASE_URL: databaseUrl.optional(),
  REDIS_URL: redisUrl.optional(),
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
  ALLOW_PRIVATE_HOSTS: z.string().default('').transform(toPrivateHosts),
  TRUSTED_PROXIES: z.string().default('').transform(toProxies),
};

export type ServiceEnvironment = z.output<z.ZodObject<typeof serviceVariables>>;

/** Variables whose value may be repeated in an error message. Every other value might hold a password. */
export const harmlessVariables: readonly (keyof ServiceEnvironment)[] = [
  'PAYWRIGHT_MODE',
  'HOST',
  'PORT',
  'LOG_LEVEL',
  'DATABASE_POOL_SIZE',
  'EURC_ADDRESS_MATIC',
  'RATE_LIMIT_FREE_PER_MINUTE',
  'RATE_LIMIT_PRO_PER_MINUTE',
  'RATE_LIMIT_ANONYMOUS_PER_MINUTE',
  'ALLOW_PRIVATE_HOSTS',
  'TRUSTED_PROXIES',
];

const rpcNames = [homeChain, ...chainIds.filter((id) => id !== homeChain)].map((id) => `RPC_URLS_${id}`).join(', ');

export const serviceDocs: readonly SettingDocs[] = [
  {
    room: 'Service',
    rows: {
      PAYWRIGHT_MODE: {
        usual: '`sandbox`',
        does: 'Chooses between the `sandbox`, where the money is not real, and `live`.',
        change: 'Set it to `live` to move real money. Live mode names every setting that is missing or unsafe.',
      },
      PUBLIC_URL: {
        usual: '`http://127.0.0.1:PORT`',
        does: 'The address at which people and agents reach the service. Every returned link begins with it.',
        change: 'Always in live mode, where it must begin with `https://`.',
      },
      'HOST, PORT': {
        usual: '`127.0.0.1`, `8402`',
        does: 'The address and port on which the service listens. Port 0 picks a free one.',
        change: 'When the port is taken, or when the proxy in front runs on another machine.',
      },
      TRUSTED_PROXIES: {
        usual: 'none',
        does: 'Comma-separated addresses and CIDR ranges whose `X-Forwarded-For` header is believed.',
        change: 'Always behind a proxy. Otherwise all clients share the rate limit of the proxy’s address.',
      },
      LOG_LEVEL: {
        usual: '`warn`, live: `info`',
        does: 'The lowest level that is logged, from `trace` to `silent`. Logs are JSON lines on standard output.',
        change: 'To see more while you look for a problem.',
      },
      DATA_DIR: {
        usual: '`.paywright`',
        does: 'The folder with the state of the sandbox. With a `DATABASE_URL` it holds only the demo shop.',
        change: 'To keep several sandboxes, or to keep one outside the checkout.',
      },
    },
  },
  {
    room: 'Database and secrets',
    rows: {
      DATABASE_URL: {
        usual: 'the sandbox’s own PostgreSQL',
        does: 'The PostgreSQL that holds the ledger. With several hosts, as in `postgres://user@one,two/db`, every connection goes to the one that accepts writes.',
        change: 'Always in live mode. Over a network it needs `sslmode=verify-full`.',
      },
      DATABASE_READ_URL: {
        usual: 'none: everything is read from the primary',
        does: 'Standbys from which history, statements, lists and reserves are read, one host or several. They never show less than a caller has been told ([scaling.md](scaling.md)).',
        change: 'When reading keeps the primary busy. Over a network it needs `sslmode=verify-full`.',
      },
      DATABASE_POOL_SIZE: {
        usual: '`20`',
        does: 'The number of connections for requests, and as many to each host of `DATABASE_READ_URL`. A process opens about thirty more for postings, jobs and notifications.',
        change: 'When the metric `paywright_db_connections_awaited` stays above 0, or to fit `max_connections`.',
      },
      MIGRATION_DATABASE_URL: {
        usual: '`DATABASE_URL`',
        does: 'The role that owns the tables. Only `paywright migrate` and `paywright ledger archive` use it.',
        change: 'To run the service as a role that cannot change the schema ([rolling.md](rolling.md)).',
      },
      REDIS_URL: {
        usual: 'none: limits are counted in each process',
        does: 'A Redis or Valkey in which all instances count their rate limits together. With Sentinels, `redis+sentinel://one:26379,two:26379/name`, over a network `rediss+sentinel://`.',
        change: 'When you run more than one instance.',
      },
      'PAYWRIGHT_SECRET, PAYWRIGHT_SECRET_FILE': {
        usual: 'the sandbox makes its own',
        does: 'The secret that protects API keys and the wallet seed, or the path of a file (mode 600) that holds it.',
        change: 'Always in live mode. `paywright secret` prints a good one.',
      },
      'PAYWRIGHT_SECRET_NEXT, PAYWRIGHT_SECRET_NEXT_FILE': {
        usual: 'none',
        does: 'The secret that will replace the current one.',
        change: 'In the first step of a rotation ([rolling.md](rolling.md)).',
      },
      'PAYWRIGHT_SECRET_OLD, PAYWRIGHT_SECRET_OLD_FILE': {
        usual: 'none',
        does: 'The secret that was replaced.',
        change: 'Until `paywright rotate-secret` has finished.',
      },
    },
  },
  {
    room: 'Requests',
    rows: {
      RATE_LIMIT_FREE_PER_MINUTE: {
        usual: '`60`',
        does: 'Requests per minute of an account of the tier `free`. 0 is unlimited, which live mode refuses.',
        change: 'To match what you offer for free.',
      },
      RATE_LIMIT_PRO_PER_MINUTE: {
        usual: '`300`',
        does: 'Requests per minute of an account of the tier `pro`. 0 is unlimited, which live mode refuses.',
        change: 'To match what you offer.',
      },
      RATE_LIMIT_ANONYMOUS_PER_MINUTE: {
        usual: '`30`',
        does: 'Requests per minute without a key, per address (IPv6: per /64, and four times as many per /48). Pages have twenty times as many. 0 is unlimited, which live mode refuses.',
        change: 'When many clients share one address.',
      },
      ALLOW_PRIVATE_HOSTS: {
        usual: 'none',
        does: 'Sandbox only: comma-separated `host:port` that webhooks, searches and paid calls may reach although the address is private or uses plain http.',
        change: 'To try a webhook receiver, a shop or a seller on your own machine, such as `127.0.0.1:9000`.',
      },
    },
  },
  {
    room: 'Chains',
    rows: {
      [rpcNames]: {
        usual: 'the sandbox’s local chains',
        does: 'Comma-separated RPC addresses of each chain, in order of preference. A chain without an address is off.',
        change:
          'Always in live mode, at least for Polygon. Name two providers for each chain: large deposits need both.',
      },
      EURC_ADDRESS_MATIC: {
        usual: 'none: no EURC on Polygon',
        does: 'The contract that counts as EURC on Polygon, where Circle issues none.',
        change: 'Only if you trust a bridged EURC.',
      },
    },
  },
];

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
