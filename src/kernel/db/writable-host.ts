import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { breakOff } from './end.ts';
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
/** A host that does not answer sooner is no choice now. Whoever needs one asks again, so a search that waits longer only hides the next primary. */
const answerMs = 3_000;
/** After the first host that accepts writes, for one with a newer timeline. */
const othersMs = 200;
/** A current host that takes longer to answer may stand still, so all are asked. */
const silenceMs = 1_000;
/** Every so many looks all hosts are asked, although the current one accepts writes: it may not know of its successor. */
const looksPerSearch = 5;

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
  #looks = 0;

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
      const isDue = ++this.#looks % looksPerSearch === 0;
      const isWritable = await Promise.race([this.#isStillWritable(), sleep(silenceMs, false, { ref: false })]);
      if (isDue || !isWritable) await this.#search(isWritable);
    } catch {
      // None accepts writes. We look again.
    } finally {
      this.#isLooking = false;
    }
  }

  async #isStillWritable(): Promise<boolean> {
    const current = this.#places.find((place) => isSame(place, this.#current));
    if (current === undefined) return false;
    let probe = this.#probe;
    try {
      if (probe === undefined) {
        probe = await open(current.config, answerMs);
        // Meanwhile the last client may have ended, another host may have become the current one, or a later look may have been sooner.
        if (this.#timer === undefined || this.#probe !== undefined || !isSame(current, this.#current)) {
          probe.end().catch(() => {});
          return false;
        }
        this.#probe = probe;
      }
      const { rows } = await probe.query('SHOW transaction_read_only');
      return rows[0]?.transaction_read_only === 'off';
    } catch {
      if (probe !== undefined && probe === this.#probe) this.#endProbe();
      return false;
    }
  }

  #endProbe(): void {
    this.#probe?.end().catch(() => {});
    this.#probe = undefined;
  }

  async #search(isStillWritable = false): Promise<Answer> {
    const answers: Answer[] = [];
    const asked = this.#places.map(async (place) => void answers.push(await this.#ask(place)));
    await Promise.any(asked).catch(({ errors }: AggregateError) => {
      throw errors.find((error) => error instanceof NoWritableHost) ?? errors[0];
    });
    // A machine that stood still accepts writes until it hears of its successor.
    await Promise.race([Promise.allSettled(asked), sleep(othersMs)]);
    const best = answers.reduce((one, other) => (other.timeline > one.timeline ? other : one));
    const known = this.#current;
    // Another search, which was sooner, may have found a newer one. And several addresses may lead to the same server.
    if (known !== undefined && best.timeline < known.timeline) return known;
    const stays = known?.timeline === best.timeline && (isStillWritable || answers.some((one) => isSame(one, known)));
    const answer = stays ? known : best;
    if (!isSame(answer, known)) {
      this.#endProbe();
      // It may be the answer of a search that ended before this one.
      this.#found = undefined;
    }
    this.#current = answer;
    for (const [client, host] of this.#clients) if (!isSame(answer, host)) breakOff(client);
    return answer;
  }

  async #ask({ host, port, config }: Place): Promise<Answer> {
    const client = await open(config, answerMs);
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
      // A machine that stood still, or was cut off, may not know yet that another one was promoted. Another system has other data.
      const { system: known = system, timeline: newest = timeline } = this.#current ?? {};
      if (system !== known || timeline < newest) throw new NoWritableHost();
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
