import type pg from 'pg';
import { urlsOfHosts } from '../several-hosts.ts';
import { type Place, WritableClient } from './writable-client.ts';

/** Runs the work on a dedicated connection and closes it. */
export async function withClient<Result>(
  options: ConnectionOptions,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = newClient(options);
  // A lost connection already fails its statement; without a listener it would also end the process.
  client.on('error', () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** A dedicated connection, which is not open yet. */
export function newClient(options: ConnectionOptions, more: pg.ClientConfig = {}): pg.Client {
  return new WritableClient({ ...connectionSettings(options), ...more });
}

type Session = Pick<pg.ClientBase, 'query'>;

/** For a dedicated connection; a pool has its own (`database.ts`). */
export async function inTransaction(session: Session, work: () => Promise<unknown>): Promise<void> {
  await session.query('BEGIN');
  try {
    await work();
    await session.query('COMMIT');
  } catch (error) {
    await session.query('ROLLBACK');
    throw error;
  }
}

export async function tableExists(session: Session, table: string): Promise<boolean> {
  const { rows } = await session.query<{ exists: boolean }>('SELECT to_regclass($1) IS NOT NULL AS exists', [table]);
  return rows[0]?.exists === true;
}

/** When PostgreSQL ends a session's work. */
export interface Limits {
  /** Per statement, lock waits included. A cancelled statement has changed nothing. */
  readonly statementMs: number;
  readonly lockMs: number;
  /** Between two statements of a transaction. After that the session ends and releases its locks. */
  readonly idleInTransactionMs: number;
}

/**
 * lockMs is below idleInTransactionMs: when a whole process hangs, its transactions that queue for one lock give up,
 * instead of each getting the lock in turn and holding it for the full idle time.
 */
const defaultLimits: Limits = { statementMs: 15_000, lockMs: 4_000, idleInTransactionMs: 5_000 };

/** If PostgreSQL's own timeout error does not arrive within this extra time, the connection counts as lost. */
export const answerGraceMs = 5_000;

const connectTimeoutMs = 10_000;

/**
 * Makes PostgreSQL notice within about ten seconds that a client is gone: by keepalives, by unacknowledged packets
 * (tcp_user_timeout) and by checking the connection during a statement.
 */
const deadPeer = [
  'client_connection_check_interval=1000',
  'tcp_keepalives_idle=5',
  'tcp_keepalives_interval=2',
  'tcp_keepalives_count=3',
  'tcp_user_timeout=10000',
];

export interface ConnectionOptions {
  readonly url: string;
  /** Shown in pg_stat_activity. */
  readonly applicationName: string;
  readonly limits?: Partial<Limits>;
}

/** Options that the operator puts in DATABASE_URL take precedence. */
export function connectionSettings(options: ConnectionOptions): Place & { readonly places: readonly Place[] } {
  const places = urlsOfHosts(options.url).map((url) => placeSettings({ ...options, url }));
  return { ...places[0], places };
}

function placeSettings({ url: given, applicationName, limits }: ConnectionOptions): Place {
  const { statementMs, lockMs, idleInTransactionMs } = { ...defaultLimits, ...limits };
  const { url, when } = takeWhen(given);
  const { bareUrl, options } = takeOptions(url);
  const session = {
    statement_timeout: statementMs,
    lock_timeout: lockMs,
    idle_in_transaction_session_timeout: idleInTransactionMs,
  };
  const place = {
    connectionString: bareUrl,
    application_name: applicationName,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    ...(statementMs > 0 && { query_timeout: statementMs + answerGraceMs }),
  };
  if (when === 'never') return place;
  if (when === 'later') return { ...place, sessionSettings: settingsToSend(session, options) };
  return { ...place, ...session, options: [...deadPeer.map((setting) => `-c ${setting}`), ...options].join(' ') };
}

/**
 * The driver would let the options in the URL replace ours. Appending them to ours keeps both, and the last one wins.
 */
function takeOptions(url: string): { readonly bareUrl: string; readonly options: readonly string[] } {
  const parsed = new URL(url);
  const options = parsed.searchParams.getAll('options');
  if (options.length === 0) return { bareUrl: url, options };
  parsed.searchParams.delete('options');
  return { bareUrl: parsed.href, options };
}

/** In a URL that `examineServer` has read: when the settings of a session are sent, if not with its start. */
const whenSettings = 'settings';

/** For a pooler in session mode, which refuses or drops the settings of a start. */
export function sendSettingsLater(url: string): string {
  return withParameter(url, 'later');
}

/** For a session that may be shared with others, which must not find our settings. */
export function withoutSettings(url: string): string {
  return withParameter(url, 'never');
}

function withParameter(url: string, when: 'later' | 'never'): string {
  const changed = new URL(url);
  changed.searchParams.set(whenSettings, when);
  return changed.href;
}

const limitNames = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout'];

function takeWhen(url: string): { readonly url: string; readonly when: string | null } {
  const parsed = new URL(url);
  const when = parsed.searchParams.get(whenSettings);
  if (when === null) return { url, when };
  parsed.searchParams.delete(whenSettings);
  // The driver would send them with the start. As options they have the same effect.
  for (const name of limitNames) {
    const value = parsed.searchParams.get(name);
    if (value !== null) parsed.searchParams.append('options', `-c ${name}=${value}`);
    parsed.searchParams.delete(name);
  }
  return { url: parsed.href, when };
}

/** The operator's options come last and win. */
function settingsToSend(session: Readonly<Record<string, number>>, options: readonly string[]): string {
  const given = [...deadPeer, ...options.flatMap((text) => text.split(/(?:^|\s+)(?:-c\s*|--)/))];
  const pairs = given.map((pair) => pair.trim().split('=')).filter(([name]) => name);
  return JSON.stringify({
    ...session,
    ...Object.fromEntries(pairs.map(([name, ...value]) => [name, value.join('=')])),
  });
}
