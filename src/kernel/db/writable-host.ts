import pg from 'pg';
import { NoWritableHost } from './errors.ts';

export interface Host {
  readonly host: string;
  readonly port: number;
}

interface Place extends Host {
  readonly config: pg.ClientConfig;
}

interface Answer extends Host {
  readonly system: string;
  /** Rises with every promotion. */
  readonly timeline: number;
}

/** Many connections are often opened at once. */
const validMs = 1_000;
const lookEveryMs = 1_000;
/** Whoever answers first is enough, so this is for none of them. */
const connectMs = 10_000;
const probeMs = 3_000;

/**
 * Finds out which of several hosts accepts writes, and closes the connections to another one as soon as it no longer does. A machine that
 * stands still closes none by itself, and everything on them would wait.
 */
export class WritableHost {
  readonly #places: readonly Place[];
  readonly #clients = new Map<pg.Client, Host>();
  #found: { readonly since: number; readonly answer: Promise<Answer> } | undefined;
  #current: Answer | undefined;
  #timer: NodeJS.Timeout | undefined;
  #probe: pg.Client | undefined;
  #isLooking = false;

  constructor(places: readonly pg.ClientConfig[]) {
    this.#places = places.map((config) => {
      const { host, port } = new pg.Client(config);
      return { host, port, config };
    });
  }

  find(): Promise<Host> {
    if (this.#found === undefined || performance.now() - this.#found.since > validMs) {
      this.#found = { since: performance.now(), answer: this.#search() };
      this.#found.answer.catch(() => {
        this.#found = undefined;
      });
    }
    return this.#found.answer;
  }

  /** Watches over the connection of this client until it ends. */
  watch(client: pg.Client, host: Host): void {
    this.#clients.set(client, host);
    this.#timer ??= setInterval(() => void this.#look(), lookEveryMs).unref();
    client.once('end', () => {
      this.#clients.delete(client);
      if (this.#clients.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
      this.#endProbe();
    });
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      if (!(await this.#isStillWritable())) await this.#search();
    } catch {
      // None accepts writes. We look again.
    } finally {
      this.#isLooking = false;
    }
  }

  async #isStillWritable(): Promise<boolean> {
    const current = this.#places.find((place) => isSame(place, this.#current));
    if (current === undefined) return false;
    try {
      this.#probe ??= await open(current.config, probeMs);
      const { rows } = await this.#probe.query('SHOW transaction_read_only');
      return rows[0]?.transaction_read_only === 'off';
    } catch {
      this.#endProbe();
      return false;
    }
  }

  #endProbe(): void {
    this.#probe?.end().catch(() => {});
    this.#probe = undefined;
  }

  async #search(): Promise<Answer> {
    const answer = await Promise.any(this.#places.map((place) => this.#ask(place))).catch(
      ({ errors }: AggregateError) => {
        throw errors.find((error) => error instanceof NoWritableHost) ?? errors[0];
      },
    );
    if (!isSame(answer, this.#current)) this.#endProbe();
    this.#current = answer;
    for (const [client, host] of this.#clients) if (!isSame(answer, host)) breakOff(client);
    return answer;
  }

  async #ask({ host, port, config }: Place): Promise<Answer> {
    const client = await open(config, connectMs);
    try {
      const { rows } = await client.query(
        `SELECT current_setting('transaction_read_only') = 'off' AS writes, pg_is_in_recovery() AS recovers,
                (SELECT system_identifier::text FROM pg_control_system()) AS system`,
      );
      const [row] = rows;
      if (!row?.writes || row.recovers) throw new NoWritableHost();
      const system: string = row.system;
      // A file of the log is named after its timeline first. Standbys do not name any.
      const { rows: files } = await client.query('SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8) AS timeline');
      const timeline = Number.parseInt(files[0]?.timeline, 16);
      // A machine that stood still, or was cut off, may not know yet that another one was promoted.
      if (this.#current?.system === system && timeline < this.#current.timeline) throw new NoWritableHost();
      return { host, port, system, timeline };
    } finally {
      client.end().catch(() => {});
    }
  }
}

async function open(place: pg.ClientConfig, patienceMs: number): Promise<pg.Client> {
  const client = new pg.Client({ ...place, connectionTimeoutMillis: patienceMs, query_timeout: patienceMs });
  client.on('error', () => {});
  await client.connect().catch((error: unknown) => {
    client.end().catch(() => {});
    throw error;
  });
  return client;
}

function isSame(one: Host, other: Host | undefined): boolean {
  return one.host === other?.host && one.port === other.port;
}

/** Whatever waits for an answer on it fails as with any lost connection. */
function breakOff(client: pg.Client): void {
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
}
