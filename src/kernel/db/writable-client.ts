import pg from 'pg';
import { readSeveralHosts } from '../several-hosts.ts';

/**
 * Reads a URL that may name several hosts, as libpq does: `postgres://ada@one:5432,two/db?target_session_attrs=read-write`. Undefined
 * where it is no URL, or wants another kind of host than these.
 */
export function readDatabaseUrl(
  text: string,
  served: readonly string[] = ['read-write', 'primary'],
): string | undefined {
  const read = /^postgres(?:ql)?:\/\//.test(text) ? readSeveralHosts(text) : undefined;
  if (read === undefined) return undefined;
  const url = new URL(read);
  const wanted = url.searchParams.get('target_session_attrs');
  if (wanted === null) return read;
  url.searchParams.delete('target_session_attrs');
  return served.includes(wanted) ? url.href : undefined;
}

/** For reads the standbys among the hosts are used, whichever of these the URL says. */
export const readReplicaUrl = (text: string) =>
  readDatabaseUrl(text, ['any', 'prefer-standby', 'standby', 'read-only']);

/** How one host is connected to. */
export interface Place extends pg.ClientConfig {
  /** JSON of the settings that a session is given once it is connected. */
  readonly sessionSettings?: string;
}

/** A client whose `connect` first finds out which of several hosts accepts writes now. */
export class WritableClient extends pg.Client {
  readonly #places: readonly Place[];
  readonly #settings: string | undefined;

  constructor(config: Place & { readonly places?: readonly Place[] } = {}) {
    super(config);
    this.#places = config.places ?? [];
    this.#settings = config.sessionSettings;
    // A pool listens only once it is told of the connection, and the connection may break before that.
    this.on('error', () => {});
  }

  override connect(): Promise<pg.Client>;
  override connect(callback: (error: Error) => void): void;
  override connect(callback?: (error: Error) => void): Promise<pg.Client> | undefined {
    if (callback === undefined) return this.#connect();
    if (this.#places.length > 1 || this.#settings !== undefined)
      void this.#connect().then(() => (callback as () => void)(), callback);
    else super.connect(callback);
    return undefined;
  }

  async #connect(): Promise<pg.Client> {
    if (this.#places.length > 1) Object.assign(this, await findWritable(this.#places));
    await super.connect();
    if (this.#settings !== undefined) await this.#send(this.#settings);
    return this;
  }

  async #send(settings: string): Promise<void> {
    try {
      await this.query('SELECT set_config(name, value, false) FROM json_each_text($1) AS s (name, value)', [settings]);
    } catch (error) {
      void this.end().catch(() => {});
      throw error;
    }
  }
}

interface Found {
  readonly host: string;
  readonly port: number;
}

/** Many connections are often opened at once. A host that has just lost its role cuts them all. */
const validMs = 1_000;
const known = new Map<string, { readonly since: number; readonly found: Promise<Found> }>();

function findWritable(places: readonly pg.ClientConfig[]): Promise<Found> {
  const name = places.map(({ connectionString }) => connectionString).join(' ');
  const last = known.get(name);
  if (last !== undefined && performance.now() - last.since < validMs) return last.found;
  const found = Promise.any(places.map(askIfWritable)).catch((error: AggregateError) => {
    known.delete(name);
    throw error.errors[0];
  });
  known.set(name, { since: performance.now(), found });
  return found;
}

async function askIfWritable(place: pg.ClientConfig): Promise<Found> {
  const client = new pg.Client({ ...place, connectionTimeoutMillis: 3_000, query_timeout: 3_000 });
  client.on('error', () => {});
  try {
    await client.connect();
    const { rows } = await client.query('SHOW transaction_read_only');
    if (rows[0]?.transaction_read_only === 'off') return { host: client.host, port: client.port };
    throw Object.assign(new Error('none of the hosts of the database accepts writes now'), { code: '57P03' });
  } finally {
    client.end().catch(() => {});
  }
}
