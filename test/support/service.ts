import pg from 'pg';
import { afterAll, beforeAll, inject } from 'vitest';
import { accountLimits, type accounts } from '../../src/accounts/feature.ts';
import type { PasswordCost } from '../../src/accounts/passwords/passwords.ts';
import { features as listed } from '../../src/app/features.ts';
import type { ListedFeature } from '../../src/app/listed-feature.ts';
import { type Roles, type RunningPaywright, runPaywright } from '../../src/app/main.ts';
import { readSettings } from '../../src/app/read-settings.ts';
import type { sandbox } from '../../src/app/sandbox-feature.ts';
import type { ServiceSettings } from '../../src/app/settings.ts';
import type { CallLimits } from '../../src/custody/adapters/circle/circle-client.ts';
import { lockNumbers } from '../../src/kernel/db/locks.ts';
import { createLogger, type Logger } from '../../src/kernel/log/logger.ts';
import type { Checkpoint } from '../../src/kernel/sagas/checkpoint.ts';
import type { Settings } from '../../src/kernel/settings.ts';
import type { bridge } from '../../src/payments/bridge/feature.ts';
import type { decisions } from '../../src/policies/decisions/feature.ts';
import type { orders } from '../../src/shopping/orders/feature.ts';
import type { purchases } from '../../src/x402/buy/feature.ts';
import type { nano } from '../../src/x402/sell/feature.ts';
import { type Client, createClient } from './client.ts';
import { administer, migratedTemplate, type TestDatabase, useDatabase } from './database.ts';

/** Unlimited unless a test is about limits: tests share one address and are faster than any person. */
const unlimited = {
  RATE_LIMIT_FREE_PER_MINUTE: '0',
  RATE_LIMIT_PRO_PER_MINUTE: '0',
  RATE_LIMIT_ANONYMOUS_PER_MINUTE: '0',
};

const { codeLimits, resetLimits } = accountLimits('sandbox');
const unlimitedAccounts = {
  codeLimits: {
    sms: { ...codeLimits.sms, perNetwork: 0, perCountry: 0 },
    mails: { ...codeLimits.mails, perNetwork: 0 },
  },
  resetLimits: { ...resetLimits, perNetwork: 0 },
};

type Own<Given> = Given extends { readonly settings?: Settings<infer Value> } ? Partial<Value> : never;

/** What a test replaces of a feature's settings, where no environment variable can. */
interface ReplacedSettings {
  readonly accounts?: Own<typeof accounts>;
  readonly bridge?: Own<typeof bridge>;
  readonly decisions?: Own<typeof decisions>;
  readonly nano?: Own<typeof nano>;
  readonly orders?: Own<typeof orders>;
  readonly purchases?: Own<typeof purchases>;
  readonly sandbox?: Own<typeof sandbox>;
}

/** Nearly every test registers accounts, and very few are about how slow that is. */
const lowestPasswordCost: PasswordCost = { memoryCost: 8, timeCost: 1 };

export interface Service {
  readonly url: string;
  readonly client: Client;
  /** Only where OPERATOR_PORT is set. */
  readonly operatorPort: number | undefined;
  stop(): Promise<void>;
}

export interface StartOptions {
  /** Both, if not said otherwise. */
  readonly roles?: Roles;
  readonly env?: Readonly<Record<string, string>>;
  readonly settings?: ReplacedSettings;
  readonly logger?: Logger;
  readonly say?: (line: string) => void;
  readonly features?: readonly ListedFeature[];
  readonly checkpoint?: Checkpoint;
  /** The lowest one, unless the test is about what a hash costs. */
  readonly passwordCost?: PasswordCost;
  /** How long Circle is waited for, and how often it is asked again. */
  readonly circleLimits?: Partial<CallLimits>;
}

/** Starts the whole service in this process, on a port of its own. */
export async function startService(database: Pick<TestDatabase, 'url'>, options: StartOptions = {}): Promise<Service> {
  const { features = listed } = options;
  const where = { PORT: '0', DATABASE_URL: database.url, DATA_DIR: inject('dataDir') };
  const config = replaceSettings(readSettings({ ...where, ...unlimited, ...options.env }, features), {
    ...options.settings,
    accounts: { ...unlimitedAccounts, ...options.settings?.accounts },
  });
  const running: RunningPaywright = await runPaywright({
    config,
    features,
    logger: options.logger ?? createLogger('error'),
    roles: options.roles ?? { serve: true, work: true },
    say: options.say ?? (() => {}),
    passwordCost: options.passwordCost ?? lowestPasswordCost,
    ...(options.circleLimits && { circleLimits: options.circleLimits }),
    ...(options.checkpoint && { checkpoint: options.checkpoint }),
  });
  const url = running.publicUrl ?? '';
  return { url, client: createClient(url), operatorPort: running.operatorPort, stop: () => running.stop() };
}

function replaceSettings(config: ServiceSettings, replaced: ReplacedSettings): ServiceSettings {
  const changed = Object.entries(replaced).map(
    ([name, own]) => [name, { ...(config.settings.get(name) as object), ...own }] as const,
  );
  return { ...config, settings: new Map([...config.settings, ...changed]) };
}

/** A database of its own for a test file, on which a service has run before: its chains, its wallets and their gas are there. */
export const useStartedDatabase = () => useDatabase(findStarted);

/** A service on a database of its own for a test file. Its fields may be read from the first test on. */
export function useService(options: StartOptions = {}): Service & { readonly database: TestDatabase } {
  // What is sealed with one secret is not opened with another.
  const database = options.env?.['PAYWRIGHT_SECRET'] === undefined ? useStartedDatabase() : useDatabase();
  let service: Service | undefined;
  const started = () => {
    if (service === undefined) throw new Error('the service is not running yet');
    return service;
  };
  beforeAll(async () => {
    service = await startService(database, options);
  });
  afterAll(() => service?.stop());
  return {
    database,
    get url() {
      return started().url;
    },
    get client() {
      return started().client;
    },
    get operatorPort() {
      return started().operatorPort;
    },
    stop: () => started().stop(),
  };
}

const startedTemplate = 'template_started';

/**
 * A database to copy on which a service has started and stopped: that is half of what a start costs. The first process of a run that
 * asks makes it, and the others wait.
 */
async function findStarted(): Promise<string> {
  const adminUrl = inject('postgresUrl');
  const admin = new pg.Client({ connectionString: adminUrl });
  await admin.connect();
  try {
    await admin.query('SELECT pg_advisory_lock($1)', [lockNumbers.sandboxChains]);
    const { rows } = await admin.query('SELECT FROM pg_database WHERE datname = $1', [startedTemplate]);
    if (rows.length === 0) await makeTemplate(adminUrl);
    return startedTemplate;
  } finally {
    await admin.end();
  }
}

async function makeTemplate(adminUrl: string): Promise<void> {
  const beside = `${startedTemplate}_new`;
  await administer(adminUrl, `DROP DATABASE IF EXISTS ${beside} WITH (FORCE)`);
  await administer(adminUrl, `CREATE DATABASE ${beside} TEMPLATE ${migratedTemplate}`);
  const service = await startService({ url: adminUrl.replace(/\/[^/]+$/, `/${beside}`) });
  await service.stop();
  await administer(adminUrl, `ALTER DATABASE ${beside} RENAME TO ${startedTemplate}`);
}
