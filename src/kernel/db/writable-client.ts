import pg from 'pg';
import { readSeveralHosts } from '../several-hosts.ts';
import { WritableHost } from './writable-host.ts';

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
    if (this.#places.length > 1) {
      const hosts = hostsOf(this.#places);
      const found = await hosts.find();
      Object.assign(this, { host: found.host, port: found.port });
      hosts.watch(this, found);
    }
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

/** One for all clients of the same database. */
const known = new Map<string, WritableHost>();

function hostsOf(places: readonly pg.ClientConfig[]): WritableHost {
  const name = places.map(({ connectionString }) => connectionString).join(' ');
  const hosts = known.get(name) ?? new WritableHost(places);
  known.set(name, hosts);
  return hosts;
}
