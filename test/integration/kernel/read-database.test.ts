import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type Database, openDatabase } from '../../../src/kernel/db/database.ts';
import { migrate } from '../../../src/kernel/db/migrate.ts';
import { openReadDatabase, type ReadDatabaseOptions } from '../../../src/kernel/db/read-database.ts';
import { readReplicaUrl } from '../../../src/kernel/db/writable-client.ts';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { randomFrom } from '../../support/random.ts';
import { ask, freeze, hostOf, type Pair, startPair } from '../../support/standby.ts';
import { until } from '../../support/until.ts';

const logger = createLogger('silent');

async function prepare(url: string): Promise<void> {
  await migrate(url);
  await ask(url, 'CREATE TABLE notes (id integer PRIMARY KEY)');
}

let pair: Pair;
beforeAll(async () => {
  pair = await startPair({ prepare, settings: { max_standby_streaming_delay: '0' } });
});
afterAll(() => pair?.stop());

/** An instance: its connections to the primary, and its reads. */
function open(primaryUrl: string, url: string, times: ReadDatabaseOptions['times'] = {}) {
  const db = openDatabase({ url: primaryUrl, poolSize: 8, logger });
  const readDb = openReadDatabase({
    db,
    primaryUrl,
    url,
    poolSize: 8,
    logger,
    // A loaded machine is slower than a replica may be; what is skipped is soon looked at again.
    times: { patienceMs: 5_000, lookEveryMs: 20, silenceMs: 5_000, ...times },
  });
  onTestFinished(async () => {
    await readDb.close();
    await db.close();
  });
  const read = async () => {
    const readings = await readDb.metrics.read();
    return readings as Record<string, readonly { value: number; labels: Record<string, string> }[]>;
  };
  return {
    db,
    readDb,
    /** How many reads ended in which way. */
    counts: async () =>
      Object.fromEntries(
        ((await read())['paywright_reads_total'] ?? []).map(({ labels, value }) => [labels['outcome'], value]),
      ) as Record<'replica' | 'behind' | 'skipped' | 'failed', number>,
    usable: async () => ((await read())['paywright_replica_usable'] ?? []).map(({ value }) => value === 1),
  };
}

type Instance = ReturnType<typeof open>;

const used = (instance: Instance) => until('the replica', async () => (await instance.usable()).includes(true));

let lastId = 0;
async function write(db: Database): Promise<number> {
  lastId += 1;
  const id = lastId;
  await db.query('INSERT INTO notes VALUES ($1)', [id]);
  return id;
}

const newestOf = async ({ readDb }: Instance) =>
  (await readDb.query<{ id: number | null }>('SELECT max(id) AS id FROM notes')).rows[0]?.id ?? 0;

async function isOn(instance: Instance): Promise<boolean> {
  const { rows } = await instance.readDb.query<{ standby: boolean }>('SELECT pg_is_in_recovery() AS standby');
  return rows[0]?.standby === true;
}

describe('a replica that follows', () => {
  it('answers, and always shows what another instance has just written', async () => {
    const [writer, reader] = [open(pair.primary.url, pair.standby.url), open(pair.primary.url, pair.standby.url)];
    await used(reader);
    for (let round = 0; round < 50; round++) {
      const id = await write(writer.db);
      expect(await newestOf(reader)).toBeGreaterThanOrEqual(id);
    }
    expect(await isOn(reader)).toBe(true);
    expect(await reader.counts()).toEqual({ replica: 51, behind: 0, skipped: 0, failed: 0 });
  });

  it('shows several statements the same moment', async () => {
    const instance = open(pair.primary.url, pair.standby.url);
    await used(instance);
    const before = await write(instance.db);
    const seen = await instance.readDb.atOneMoment(async (tx) => {
      const count = async () => (await tx.query<{ id: number }>('SELECT max(id) AS id FROM notes')).rows[0]?.id;
      const first = await count();
      const { rows } = await tx.query<{ standby: boolean }>('SELECT pg_is_in_recovery() AS standby');
      await write(instance.db);
      await until('the new row on the standby', async () => {
        const [row] = await ask<{ id: number }>(pair.standby.url, 'SELECT max(id) AS id FROM notes');
        return row?.id === lastId;
      });
      return { first, second: await count(), isStandby: rows[0]?.standby };
    });
    expect(seen).toEqual({ first: before, second: before, isStandby: true });
  });

  it('a statement that is at fault fails as it does on the primary', async () => {
    const instance = open(pair.primary.url, pair.standby.url);
    await used(instance);
    await expect(instance.readDb.query('SELECT 1 / 0')).rejects.toMatchObject({ code: '22012' });
    expect(await instance.counts()).toMatchObject({ failed: 1 });
    expect(await isOn(instance)).toBe(true);
  });
});

const pause = (how: 'pause' | 'resume') => ask(pair.standby.url, `SELECT pg_wal_replay_${how}()`);

describe('a replica that lags', () => {
  it('is waited for up to a limit, then skipped without waiting, and used again once it has caught up', async () => {
    // A look never comes by itself, and a read waits for nothing but the limit.
    const instance = open(pair.primary.url, pair.standby.url, { patienceMs: 300, lookEveryMs: 3_600_000 });
    const looking = open(pair.primary.url, pair.standby.url, { patienceMs: 300 });
    await used(instance);
    await used(looking);
    await pause('pause');
    const id = await write(instance.db);
    expect(await newestOf(instance)).toBe(id);
    expect(await instance.counts()).toEqual({ replica: 0, behind: 1, skipped: 0, failed: 0 });
    for (let round = 0; round < 20; round++) expect(await newestOf(instance)).toBe(id);
    expect(await instance.counts()).toEqual({ replica: 0, behind: 1, skipped: 20, failed: 0 });

    expect(await newestOf(looking)).toBe(id);
    expect(await looking.usable()).toEqual([false]);
    await pause('resume');
    await used(looking);
    expect(await isOn(looking)).toBe(true);
  });

  it('is waited for when it is only a moment behind', async () => {
    const instance = open(pair.primary.url, pair.standby.url);
    await used(instance);
    await pause('pause');
    const id = await write(instance.db);
    const reading = newestOf(instance);
    await until('the read on the standby', async () => {
      const sql =
        "SELECT FROM pg_stat_activity WHERE application_name = 'paywright-reads' AND state = 'idle in transaction'";
      return (await ask(pair.standby.url, sql)).length === 1;
    });
    await pause('resume');
    expect(await reading).toBe(id);
    expect(await instance.counts()).toEqual({ replica: 1, behind: 0, skipped: 0, failed: 0 });
  });
});

it('two instances never show less than either has told, whatever the replica does', async () => {
  const times = { patienceMs: 30, lookEveryMs: 10 };
  const instances = [open(pair.primary.url, pair.standby.url, times), open(pair.primary.url, pair.standby.url, times)];
  for (const instance of instances) await used(instance);
  const random = randomFrom(35);
  const any = () => instances[Math.floor(random() * 2)] as Instance;
  let told = lastId;
  const tell = (id: number) => {
    told = Math.max(told, id);
  };
  const steps = Array.from({ length: 400 }, () => random());
  const work = async (mine: readonly number[]) => {
    for (const step of mine) {
      const instance = any();
      if (step < 0.4) tell(await write(instance.db));
      else if (step < 0.45) await pause('pause');
      else if (step < 0.55) await pause('resume');
      else {
        const before = told;
        const seen = await newestOf(instance);
        expect(seen).toBeGreaterThanOrEqual(before);
        tell(seen);
      }
    }
  };
  await Promise.all([0, 1, 2, 3].map((part) => work(steps.filter((_, index) => index % 4 === part))));
  await pause('resume');
  for (const instance of instances) {
    await until('a read from the replica', () => isOn(instance));
    expect((await instance.counts()).behind).toBeGreaterThan(0);
  }
});

describe('a read that the replica breaks off is done on the primary', () => {
  /** A read that waits on the standby, and does not wait on the primary. */
  async function beginRead(instance: Instance) {
    const holder = await holdLock();
    const reading = instance.readDb.query<{ standby: boolean }>(
      'SELECT pg_is_in_recovery() AS standby, count(*) FROM notes, pg_advisory_lock_shared(35)',
    );
    const waits = "SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted";
    await until('the read on the standby', async () => (await ask(pair.standby.url, waits)).length === 1);
    return { reading, holder };
  }

  async function holdLock() {
    const client = new pg.Client({ connectionString: pair.standby.url });
    client.on('error', () => {});
    await client.connect();
    onTestFinished(() => client.end().catch(() => {}));
    await client.query('SELECT pg_advisory_lock(35)');
    return client;
  }

  it('when it conflicts with recovery', async () => {
    const instance = open(pair.primary.url, pair.standby.url);
    await used(instance);
    const { reading } = await beginRead(instance);
    await instance.db.query('ALTER TABLE notes ADD COLUMN more text');
    expect((await reading).rows[0]?.standby).toBe(false);
    expect(await instance.counts()).toMatchObject({ failed: 1, behind: 0 });
  });

  it('when the replica freezes, which is then skipped until it answers again', async () => {
    const instance = open(pair.primary.url, pair.standby.url, { silenceMs: 300 });
    await used(instance);
    const { reading } = await beginRead(instance);
    const thaw = await freeze(pair.standby.url);
    try {
      expect((await reading).rows[0]?.standby).toBe(false);
      expect(await instance.usable()).toEqual([false]);
      const id = await write(instance.db);
      expect(await newestOf(instance)).toBe(id);
      expect(await instance.counts()).toEqual({ replica: 0, behind: 0, skipped: 1, failed: 1 });
    } finally {
      thaw();
    }
    await used(instance);
    expect(await isOn(instance)).toBe(true);
  });

  it('when the replica is stopped, which is used again when it is back', async () => {
    const instance = open(pair.primary.url, pair.standby.url);
    await used(instance);
    const { reading } = await beginRead(instance);
    await pair.standby.stop();
    expect((await reading).rows[0]?.standby).toBe(false);
    expect(await newestOf(instance)).toBe(lastId);
    expect(await instance.usable()).toEqual([false]);
    const late = open(pair.primary.url, pair.standby.url);
    expect(await newestOf(late)).toBe(lastId);
    await pair.startStandby();
    for (const each of [instance, late]) {
      await used(each);
      expect(await isOn(each)).toBe(true);
    }
  });
});

describe('a host is skipped', () => {
  const skipped = async (instance: Instance) => {
    for (let round = 0; round < 5; round++) await newestOf(instance);
    return instance.usable();
  };

  it('that is the primary itself, while a standby beside it is used', async () => {
    const same = open(pair.primary.url, pair.primary.url);
    const both = open(
      pair.primary.url,
      readReplicaUrl(
        `postgresql://paywright@${hostOf(pair.primary.url)},${hostOf(pair.standby.url)}/paywright?target_session_attrs=prefer-standby`,
      ) ?? '',
    );
    await used(both);
    expect(await both.usable()).toEqual([false, true]);
    expect(await isOn(both)).toBe(true);
    expect(await skipped(same)).toEqual([false]);
  });
});

it('a standby of an older history is not believed, however far its log goes', async () => {
  await pair.standby.stop();
  // The old primary goes on alone, and gets further than the new one will.
  await ask(
    pair.primary.url,
    'CREATE TABLE filler AS SELECT n, repeat(md5(n::text), 20) AS text FROM generate_series(1, 20000) n',
  );
  await pair.primary.stop();
  const promoted = await pair.startStandby();
  await ask(promoted.url, 'SELECT pg_promote()');
  await until('the promotion', async () => {
    const [row] = await ask<{ standby: boolean }>(promoted.url, 'SELECT pg_is_in_recovery() AS standby');
    return row?.standby === false;
  });
  const old = await pair.startPrimaryAsStandby();
  const instance = open(promoted.url, old.url);
  const id = await write(instance.db);
  const [{ lsn: newLsn } = { lsn: '' }] = await ask<{ lsn: string }>(
    promoted.url,
    'SELECT pg_current_wal_flush_lsn() AS lsn',
  );
  const [{ further } = { further: false }] = await ask<{ further: boolean }>(
    old.url,
    `SELECT pg_is_in_recovery() AND pg_last_wal_replay_lsn() > '${newLsn}' AS further`,
  );
  expect(further).toBe(true);
  const marks = async () =>
    (await ask<{ timeline: string }>(promoted.url, 'SELECT timeline FROM timelines ORDER BY 1')).map(
      ({ timeline }) => timeline,
    );
  await until('a look', async () => (await marks()).length === 2);
  expect(await marks()).toEqual(['00000001', '00000002']);
  expect(await newestOf(instance)).toBe(id);
  expect(await instance.usable()).toEqual([false]);
});
