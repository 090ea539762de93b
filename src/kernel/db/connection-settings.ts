import type pg from 'pg';

/** How long the database lets a session of ours do something before it ends it. */
export interface Limits {
  /** One statement, with whatever it waits for. What was ended has done nothing. */
  readonly statementMs: number;
  /** Waiting for one lock that somebody else holds. */
  readonly lockMs: number;
  /** Between two statements of a transaction: whoever stays silent for longer loses it, and all its locks. */
  readonly idleInTransactionMs: number;
}

/**
 * Waiting for a lock ends before silence does. So when a whole process falls silent, those of its transactions that wait
 * for one lock do not get it one after the other and keep it for the full time each.
 */
const defaultLimits: Limits = { statementMs: 15_000, lockMs: 4_000, idleInTransactionMs: 5_000 };

/** The database ends a statement and says so; when even that does not arrive, the connection is taken for lost. */
export const answerGraceMs = 5_000;

/** A database that does not answer by then is not there. */
const connectTimeoutMs = 10_000;

/**
 * The other side may be gone without a word. The database finds out by asking (keepalives), by what nobody acknowledges
 * (tcp_user_timeout), and by looking while it works on a statement: within ten seconds or so it gives up the session.
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
  /** Shows up in pg_stat_activity, so that an operator sees whose connection it is. */
  readonly applicationName: string;
  readonly limits?: Partial<Limits>;
}

/** How every connection of ours is opened. What an operator sets in DATABASE_URL himself counts more. */
export function connectionSettings({ url, applicationName, limits: given }: ConnectionOptions): pg.ClientConfig {
  const limits = { ...defaultLimits, ...given };
  const { bareUrl, options } = takeOptions(url);
  return {
    connectionString: bareUrl,
    application_name: applicationName,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    statement_timeout: limits.statementMs,
    lock_timeout: limits.lockMs,
    idle_in_transaction_session_timeout: limits.idleInTransactionMs,
    ...(limits.statementMs > 0 && { query_timeout: limits.statementMs + answerGraceMs }),
    options: [...deadPeer.map((setting) => `-c ${setting}`), ...options].join(' '),
  };
}

/** The driver would let the options of a URL replace ours altogether: they come after ours instead, and so win. */
function takeOptions(url: string): { readonly bareUrl: string; readonly options: readonly string[] } {
  const parsed = new URL(url);
  const options = parsed.searchParams.getAll('options');
  if (options.length === 0) return { bareUrl: url, options };
  parsed.searchParams.delete('options');
  return { bareUrl: parsed.href, options };
}
