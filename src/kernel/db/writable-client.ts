import pg from 'pg';
import { readSeveralHosts } from '../several-hosts.ts';
import { WritableHost } from './writable-host.ts';

/**
 * Reads a URL that may name several hosts, as libpq does: `postgres://ada@one:5432,two/db?target_session_attrs=read-write`. Undefined
 * where it is no URL, or wants a host that only reads.
 */
export function readDatabaseUrl(text: string): string | undefined {
  const read = /^postgres(?:ql)?:\/\//.test(text) ? readSeveralHosts(text) : undefined;
  if (read === undefined) return undefined;
  const url = new URL(read);
  const wanted = url.searchParams.get('target_session_attrs');
  if (wanted === null) return read;
  url.searchParams.delete('target_session_attrs');
  return wanted === 'read-write' || wanted === 'primary' ? url.href : undefined;
}

/** A client whose `connect` first finds out which of several hosts accepts writes now. */
export class WritableClient extends pg.Client {
  readonly #places: readonly pg.ClientConfig[];

  constructor(config: pg.ClientConfig & { readonly places?: readonly pg.ClientConfig[] } = {}) {
    super(config);
    this.#places = config.places ?? [];
    // A pool listens only once it is told of the connection, and the connection may break before that.
    this.on('error', () => {});
  }

  override connect(): Promise<pg.Client>;
  override connect(callback: (error: Error) => void): void;
  override connect(callback?: (error: Error) => void): Promise<pg.Client> | undefined {
    if (callback === undefined) return this.#connect();
    if (this.#places.length > 1) void this.#connect().then(() => (callback as () => void)(), callback);
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
    return super.connect() as Promise<unknown> as Promise<pg.Client>;
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
