import { z } from 'zod';
import type { RateLimits } from '../kernel/rate-limit/rate-limits.ts';
import { Refusal, refuseDuplicates, refuseSameNames } from '../kernel/refusal.ts';
import type { Given, Mode, Settings } from '../kernel/settings.ts';
import { type ChainId, chainIds } from '../money/catalogue.ts';
import { suspiciousSettings, unknownSettings } from './check-settings.ts';
import { harmlessVariables, type ServiceEnvironment, serviceVariables } from './service-variables.ts';
import { type Machine, unsafeSettings } from './unsafe-settings.ts';

export type ServiceSettings = Readonly<ReturnType<typeof toConfig>> & {
  /** A sentence for each setting that the operator should look at, although the service starts with it. */
  readonly warnings: readonly string[];
  /** The settings of each feature, by the feature's name. */
  readonly settings: ReadonlyMap<string, unknown>;
};

/** The secret itself, or the path of a file that holds it. */
export interface SecretSetting {
  readonly name: string;
  readonly text: string | undefined;
  readonly file: string | undefined;
}

interface Declaring {
  readonly name: string;
  readonly settings?: Settings<unknown>;
}

/** Reads the environment once: nothing else in the service looks at process.env. An empty variable counts as unset. */
export function composeSettings(env: Given, declaring: readonly Declaring[], machine: Machine): ServiceSettings {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ''));
  refuseSameNames('feature', declaring);
  const declared = declaring.flatMap(({ settings }) => settings ?? []);
  const variables = { ...serviceVariables, ...variablesOf(declared) };
  const parsed = z.object(variables).safeParse(given);
  if (!parsed.success) throw new Refusal(describeIssues(parsed.error.issues, given, declared));
  const values = parsed.data;
  if (values.PAYWRIGHT_MODE === 'live') {
    refuseUnsafeLive([
      ...unsafeSettings(values, given, machine),
      ...declared.flatMap((settings) => settings.refuseLive?.(values as never, given) ?? []),
    ]);
  }
  const mode = values.PAYWRIGHT_MODE;
  return {
    ...toConfig(values),
    warnings: [
      ...unknownSettings(Object.keys(given), Object.keys(variables)),
      ...(mode === 'live' ? suspiciousSettings(given, variables) : []),
    ],
    settings: new Map(declaring.map(({ name, settings }) => [name, settings?.read(values as never, mode)])),
  };
}

function variablesOf(declared: readonly Settings<unknown>[]): z.ZodRawShape {
  const all = declared.flatMap(({ variables }) => Object.entries(variables));
  refuseDuplicates('variable', [...Object.keys(serviceVariables), ...all.map(([name]) => name)]);
  return Object.fromEntries(all);
}

function toConfig(env: ServiceEnvironment) {
  const mode: Mode = env.PAYWRIGHT_MODE;
  const sandbox = mode === 'sandbox';
  const secretOf = (name: 'PAYWRIGHT_SECRET' | 'PAYWRIGHT_SECRET_NEXT' | 'PAYWRIGHT_SECRET_OLD'): SecretSetting => ({
    name,
    text: env[name],
    file: env[`${name}_FILE`],
  });
  // Where to reach each chain, in order of preference. A chain without an entry is off.
  const rpcUrls: ReadonlyMap<ChainId, readonly string[]> = new Map(
    chainIds.flatMap((id) => (env[`RPC_URLS_${id}`] ? [[id, env[`RPC_URLS_${id}`] ?? []] as const] : [])),
  );
  const rateLimits: RateLimits = {
    free: env.RATE_LIMIT_FREE_PER_MINUTE,
    pro: env.RATE_LIMIT_PRO_PER_MINUTE,
    anonymous: env.RATE_LIMIT_ANONYMOUS_PER_MINUTE,
    // A few households behind one IPv6 /48, and a page that loads twenty files, are both honest.
    network: 4 * env.RATE_LIMIT_ANONYMOUS_PER_MINUTE,
    pages: 20 * env.RATE_LIMIT_ANONYMOUS_PER_MINUTE,
    // A hundred free accounts behind one address are honest; more would be a way around the limit per account.
    address: sandbox ? 0 : 6_000,
  };
  return {
    mode,
    host: env.HOST,
    port: env.PORT,
    // Unset until the server listens when neither PUBLIC_URL nor a fixed PORT names it.
    publicUrl: env.PUBLIC_URL ?? (env.PORT === 0 ? undefined : `http://127.0.0.1:${env.PORT}`),
    dataDir: env.DATA_DIR,
    databaseUrl: env.DATABASE_URL,
    databaseReadUrl: env.DATABASE_READ_URL,
    databasePoolSize: env.DATABASE_POOL_SIZE,
    redisUrl: env.REDIS_URL,
    logLevel: env.LOG_LEVEL ?? (sandbox ? 'warn' : 'info'),
    secret: secretOf('PAYWRIGHT_SECRET'),
    // During a rotation: the secret to come, or the one that was replaced.
    nextSecret: secretOf('PAYWRIGHT_SECRET_NEXT'),
    oldSecret: secretOf('PAYWRIGHT_SECRET_OLD'),
    // The role that owns the tables, where the service runs as another one.
    migrationDatabaseUrl: env.MIGRATION_DATABASE_URL,
    rpcUrls,
    // Circle issues no EURC on Polygon: an operator may name a contract.
    eurcOnPolygon: env.EURC_ADDRESS_MATIC,
    rateLimits,
    trustedProxies: env.TRUSTED_PROXIES,
    // Private or plain http addresses that outgoing requests may reach.
    allowPrivateHosts: sandbox ? env.ALLOW_PRIVATE_HOSTS : [],
  };
}

/** Names all problems at once, so that the operator can fix them in one go. */
function refuseUnsafeLive(problems: readonly string[]): void {
  if (problems.length === 0) return;
  throw new Refusal(
    `Live mode does not start until this is fixed:\n${problems.map((line) => `  - ${line}`).join('\n')}`,
  );
}

function describeIssues(
  issues: readonly z.core.$ZodIssue[],
  given: Given,
  declared: readonly Settings<unknown>[],
): string {
  const shown = new Set<string>([...harmlessVariables, ...declared.flatMap((settings) => settings.harmless ?? [])]);
  const sentences = issues.map((issue) => {
    const name = String(issue.path[0]);
    const value = shown.has(name) ? ` (it is "${given[name]}")` : '';
    return `${name} ${issue.message}${value}.`;
  });
  return [...new Set(sentences)].join('\n');
}
