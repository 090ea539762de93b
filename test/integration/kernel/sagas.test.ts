import { randomUUID } from 'node:crypto';
import { Command } from 'commander';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { features } from '../../../src/app/features.ts';
import { hooksOf, sagasOf } from '../../../src/app/listed-feature.ts';
import { Ended } from '../../../src/kernel/sagas/checkpoint.ts';
import { addSagaCommands, sagaDetails } from '../../../src/kernel/sagas/commands.ts';
import { declareSagas, defineSaga, isEnd, type Saga } from '../../../src/kernel/sagas/define-saga.ts';
import { resumeAllSagas, resumeSagasSchedule, sagaMetrics } from '../../../src/kernel/sagas/feature.ts';
import { createSagaRunner, handleSaga, type SagaStep } from '../../../src/kernel/sagas/run-saga.ts';
import { wakeSaga } from '../../../src/kernel/sagas/wake-saga.ts';
import { useDatabase } from '../../support/database.ts';
import { createTestLog } from '../../support/deposits.ts';

const { db } = useDatabase();

/** What a row of each saga needs beside its id, state and times. A new saga needs a line here. */
const samples: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  withdrawal: {
    chain: "'MATIC'",
    asset: "'USDC'",
    address: `'0x${'1'.repeat(40)}'`,
    gross: '10',
    fee: '1',
    net: '9',
  },
  sweep: { chain: "'MATIC'", asset: "'USDC'" },
  coin_sweep: {
    chain: "'MATIC'",
    asset: "'DAI'",
    wallet_id: "'wal_user'",
    address: `'0x${'4'.repeat(40)}'`,
    treasury: `'0x${'5'.repeat(40)}'`,
    atomic: '5',
    gas_limit: '50000',
  },
  bridge: {
    account_id: '(SELECT min(id) FROM accounts)',
    from_chain: "'MATIC'",
    to_chain: "'BASE'",
    asset: "'USDC'",
    amount: '10',
    origin: "'request'",
    gas_fee: '0',
    burner_id: "'wal_new'",
  },
  swap: {
    account_id: '(SELECT min(id) FROM accounts)',
    asset: "'USDC'",
    to_asset: "'ETH'",
    amount: '1000',
    fee: '5',
    quoted: '100',
    amount_out_min: '99',
    deadline: '1800000000',
    gas_fee: '0',
    pool_gas: '0',
    swapper_id: "'wal_new'",
  },
  order: {
    account_id: '(SELECT min(id) FROM accounts)',
    domain: "'shop.example'",
    channel: "'ucp'",
    checkout: "'{}'",
    product_title: "'Mug'",
    product_brand: "'Alder'",
    product_url: "'https://shop.example/mug'",
    item_id: "'1'",
    shipping_address: "'{}'",
    likeness: "sha256('one')",
    asset: "'USDC'",
    amount: '10',
    fee: '1',
    transfer_id: "'trf_x'",
    ask_key: "'7b6f5f0e-8c1f-4b5a-9d3e-2f1a0c9b8d7e'",
    cancel_key: "'7b6f5f0e-8c1f-4b5a-9d3e-2f1a0c9b8d7f'",
    expires_at: 'now()',
    void_at: 'now()',
  },
  settlement: { chain: "'MATIC'", asset: "'USDC'", wallet_id: "'wal_old'" },
  purchase: {
    account_id: '(SELECT min(id) FROM accounts)',
    method: "'GET'",
    url: "'https://example.com/forecast'",
    asset: "'USDC'",
    amount: '10000',
    x402_version: '2',
    terms: "'{}'",
    wallet_id: "'wal_new'",
    pay_to: `'0x${'6'.repeat(40)}'`,
    nonce: "'0x' || replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '')",
    valid_before: '1800000000',
    from_block: '0',
    fee: '0',
    signature: "'0x12'",
  },
  decision_anchor: { root: '1', chain: "'MATIC'", wallet_id: "'wal_new'", data: "sha512('root')" },
  house_move: { chain: "'MATIC'", from_wallet: "'wal_old'", to_wallet: "'wal_new'", atomic: '5' },
};

/** SQL: a value of the type that is none of the samples'. */
const anotherOf: Readonly<Record<string, (value: string) => string>> = {
  text: (value) => `coalesce(${value}, '') || 'x'`,
  jsonb: () => `'{"another": true}'`,
  uuid: () => 'gen_random_uuid()',
  bytea: () => "sha256('another')",
};

/** A saga that is there for the tests alone. */
const errand = defineSaga({
  name: 'errand',
  table: 'errands',
  lane: 'place',
  about: "what || ' at ' || place",
  fixed: ['what', 'place'],
  states: {
    planned: { meaning: 'somebody has to go', next: ['under_way', 'held'], withinMs: 60_000 },
    under_way: { meaning: 'somebody has gone', next: ['done', 'failed'], withinMs: 60 * 60_000 },
    held: { meaning: 'a person decides', next: ['planned', 'failed'], rests: true },
    done: { meaning: 'it is done', next: [] },
    failed: { meaning: 'it cannot be done', next: [] },
  },
  checkpoints: [],
  rehearsal: { commands: [['errand']], endsAs: 'done' },
});

beforeAll(async () => {
  await db.query(
    `INSERT INTO house_wallets (id, purpose, chain, provider, provider_ref, address, retired_at)
     VALUES ('wal_old', 'gas', 'MATIC', 'keys', 'old', '0x${'2'.repeat(40)}', now()),
            ('wal_new', 'gas', 'MATIC', 'keys', 'new', '0x${'3'.repeat(40)}', NULL)`,
  );
  await db.query(
    `INSERT INTO accounts (handle, name, email, password_hash) VALUES ('PA-SAGASAGA', 'Ada', 'ada@example.com', 'none')`,
  );
  await db.query(
    `INSERT INTO wallets (id, account_id, chain, provider, provider_ref, address)
     SELECT 'wal_user', min(id), 'MATIC', 'keys', 'user', '0x${'4'.repeat(40)}' FROM accounts`,
  );
  await db.query("INSERT INTO decision_keys (id, public_key, sealed) VALUES ('key', sha256('key'), 'sealed')");
  await db.query(
    "INSERT INTO decision_roots (number, root, key_id, signed, signature) VALUES (1, sha256('root'), 'key', '{}', sha512('root'))",
  );
  const columns = `id text PRIMARY KEY, what text NOT NULL, place text NOT NULL, status text NOT NULL, waits_for text,
    status_since timestamptz NOT NULL DEFAULT clock_timestamp(), created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(), finished_at timestamptz, notes jsonb NOT NULL DEFAULT '{"milk": 2}'`;
  await db.query(`CREATE TABLE errands (${columns}); CREATE TABLE unheard_of (${columns});
    CREATE TRIGGER errands_guard BEFORE INSERT OR UPDATE ON errands FOR EACH ROW EXECUTE FUNCTION guard_saga('errand');
    CREATE TRIGGER unheard_of_guard BEFORE INSERT OR UPDATE ON unheard_of
      FOR EACH ROW EXECUTE FUNCTION guard_saga('unheard_of')`);
  await declareSagas(db, [errand]);
});

let count = 0;

/** A row of any saga in any state, that has been there for an hour. */
async function rowIn(saga: Saga, status: string): Promise<string> {
  const id = `row_${++count}`;
  const sample = samples[saga.name];
  if (sample === undefined) throw new Error(`there is no sample of a ${saga.name}`);
  const [state] = [saga.states[status]];
  if (state === undefined) throw new Error(`a ${saga.name} is never ${status}`);
  // Only one move of a wallet is open at a time.
  await db.query(`DELETE FROM ${saga.table} WHERE finished_at IS NULL`);
  await db.query(
    `INSERT INTO ${saga.table} (id, status, finished_at, status_since, waits_for, ${Object.keys(sample).join(', ')})
     VALUES ($1, $2, $3, now() - interval '1 hour', 'a better day', ${Object.values(sample).join(', ')})`,
    [id, status, isEnd(state) ? new Date() : null],
  );
  return id;
}

function move({ table, states }: Saga, id: string, to: string): Promise<unknown> {
  const state = states[to];
  const finishedAt = state !== undefined && isEnd(state) ? new Date() : null;
  return db.query(`UPDATE ${table} SET status = $2, finished_at = $3 WHERE id = $1`, [id, to, finishedAt]);
}

async function look({ table }: Pick<Saga, 'table'>, id: string) {
  const { rows } = await db.query<{ status: string; waitsFor: string | null; since: boolean; updatedAt: Date }>(
    `SELECT status, waits_for, status_since > now() - interval '30 minutes' AS since, updated_at FROM ${table} WHERE id = $1`,
    [id],
  );
  return rows[0];
}

const listed = sagasOf(features);

test('every saga that is listed is tried here', () => {
  expect(Object.keys(samples).toSorted()).toEqual(listed.map(({ name }) => name).toSorted());
});

describe.each(listed.map((saga) => [saga.name, saga] as const))('the guard of a %s', (name, saga) => {
  const states = Object.keys(saga.states);

  test.each(states.flatMap((from) => states.map((to) => [from, to] as const)))(
    'lets %s become %s only if it was declared',
    async (from, to) => {
      const id = await rowIn(saga, from);
      const { next } = saga.states[from] as Saga['states'][string];
      if (next.includes(to)) {
        await move(saga, id, to);
        expect(await look(saga, id)).toMatchObject({ status: to, waitsFor: null, since: true });
        return;
      }
      if (from === to && next.length > 0) await move(saga, id, to);
      else await expect(move(saga, id, to)).rejects.toThrow(`${name} ${id} cannot go from ${from} to ${to}`);
      expect(await look(saga, id)).toMatchObject({ status: from, waitsFor: 'a better day', since: false });
    },
  );

  test.each(states)('lets nothing else into the table or %s', async (from) => {
    const id = await rowIn(saga, from);
    await expect(move(saga, id, 'lost')).rejects.toThrow(`a ${name} cannot be lost`);
    const unfinished = isEnd(saga.states[from] as Saga['states'][string]) ? 'NULL' : 'now()';
    await expect(db.query(`UPDATE ${saga.table} SET finished_at = ${unfinished} WHERE id = $1`, [id])).rejects.toThrow(
      `${name} ${id} is ${from}, and finished at`,
    );
  });

  test.each(saga.fixed)('never lets %s change', async (column) => {
    const [open] = states;
    if (open === undefined) throw new Error(`a ${name} has no states`);
    const id = await rowIn(saga, open);
    const { rows } = await db.query<{ dataType: string }>(
      'SELECT data_type FROM information_schema.columns WHERE table_name = $1 AND column_name = $2',
      [saga.table, column],
    );
    const another = anotherOf[rows[0]?.dataType ?? ''] ?? ((value: string) => `coalesce(${value}, 0) + 1`);
    await expect(
      db.query(`UPDATE ${saga.table} SET ${column} = ${another(column)} WHERE id = $1`, [id]),
    ).rejects.toThrow(`${name} ${id} cannot become another one`);
  });

  test('lets what is finished never change again', async () => {
    const end = states.find((state) => isEnd(saga.states[state] as Saga['states'][string]));
    if (end === undefined) throw new Error(`a ${name} never ends`);
    const id = await rowIn(saga, end);
    await expect(db.query(`UPDATE ${saga.table} SET waits_for = 'more' WHERE id = $1`, [id])).rejects.toThrow(
      'cannot go',
    );
  });
});

test('nothing moves that no release has declared', async () => {
  const insert = "INSERT INTO unheard_of (id, what, place, status) VALUES ('one', 'milk', 'shop', 'planned')";
  await expect(db.query(insert)).rejects.toThrow('no release has declared what a unheard_of may do');
});

test('a declaration is kept up to date, and written only when it has changed', async () => {
  const written = async () => (await db.query("SELECT xmin::text, states FROM sagas WHERE name = 'errand'")).rows[0];
  const before = await written();
  await declareSagas(db, [errand]);
  expect(await written()).toEqual(before);
  const { held: _, ...states } = errand.states;
  await declareSagas(db, [{ ...errand, states: { ...states, planned: { ...states.planned, next: ['under_way'] } } }]);
  expect(await written()).toMatchObject({ states: { planned: ['under_way'] } });
  await declareSagas(db, [errand]);
});

describe('a step on a chain', () => {
  async function step(columns: Readonly<Record<string, string>>): Promise<string> {
    const id = randomUUID();
    const given = { saga: "'errand'", saga_id: `'${id}'`, step: "'go'", chain: "'MATIC'", ...columns };
    await db.query(
      `INSERT INTO chain_steps (id, ${Object.keys(given).join(', ')}) VALUES ($1, ${Object.values(given).join(', ')})`,
      [id],
    );
    return id;
  }
  const change = (id: string, set: string) => db.query(`UPDATE chain_steps SET ${set} WHERE id = $1`, [id]);
  const drop = (id: string) => db.query('DELETE FROM chain_steps WHERE id = $1', [id]);
  const ready = { wallet_id: "'wal_old'", state: "'ready'" };
  const asked = { ...ready, state: "'asked'", asked_at: 'now()' };
  const taken = { ...asked, state: "'taken'", provider_ref: "'ref'" };
  const settled = { ...taken, state: "'confirmed'", settled_at: 'now()' };
  const ofUser = { user_wallet_id: "'wal_user'", state: "'ready'" };

  test('is forgotten only while nobody was asked for it', async () => {
    await drop(await step({ state: "'waiting'" }));
    await drop(await step(ready));
    await drop(await step(ofUser));
    for (const state of [asked, taken, settled]) {
      await expect(drop(await step(state))).rejects.toThrow('was asked for and cannot be forgotten');
    }
  });

  test.each(['id = gen_random_uuid()', "saga = 'other'", "saga_id = 'other'", "step = 'other'", "chain = 'BASE'"])(
    'never becomes another one: %s',
    async (set) => {
      for (const state of [ready, asked, taken]) {
        await expect(change(await step(state), set)).rejects.toThrow('cannot become another one');
      }
    },
  );

  test.each([
    "wallet_id = 'wal_new'",
    "asked_at = now() + interval '1 s'",
    "state = 'ready', asked_at = NULL",
    "wallet_id = NULL, user_wallet_id = 'wal_user'",
  ])('stays what was asked for: %s', async (set) => {
    for (const state of [asked, taken]) {
      await expect(change(await step(state), set)).rejects.toThrow('cannot become another one');
    }
  });

  test('may be given another wallet before that', async () => {
    await change(await step(ready), "wallet_id = 'wal_new'");
  });

  test('keeps its reference', async () => {
    const id = await step(asked);
    await change(id, "state = 'taken', provider_ref = 'mine'");
    await expect(change(id, "provider_ref = 'another'")).rejects.toThrow('cannot become another one');
    await expect(change(id, 'provider_ref = NULL')).rejects.toThrow('cannot become another one');
  });

  test.each(["hash = '0x1'", "state = 'failed'", "settled_at = NULL, state = 'taken'", 'block_number = 7'])(
    'stays settled: %s',
    async (set) => {
      await expect(change(await step(settled), set)).rejects.toThrow('is settled');
    },
  );

  test.each([
    { state: "'waiting'", wallet_id: "'wal_old'" },
    { state: "'ready'" },
    { ...ready, state: "'asked'" },
    { ...asked, state: "'taken'" },
    { ...taken, state: "'confirmed'" },
    { ...taken, settled_at: 'now()' },
    { ...ready, state: "'lost'" },
    { ...ready, ...ofUser },
    { ...ofUser, state: "'waiting'" },
  ])('is never by halves: %j', async (columns) => {
    await expect(step(columns)).rejects.toThrow('check constraint');
  });
});

interface Errand {
  readonly id: string;
  readonly status: string;
}

describe('errands', () => {
  const log = createTestLog();
  beforeEach(async () => {
    await db.query('DELETE FROM errands');
    await db.query('SELECT graphile_worker.complete_jobs(array_agg(id)) FROM graphile_worker.jobs');
    log.clear();
  });

  async function errandIn(status: keyof typeof errand.states, { id = `err_${++count}`, place = 'shop' } = {}) {
    await db.query(
      `INSERT INTO errands (id, what, place, status, finished_at, updated_at)
       VALUES ($1, 'milk', $2, $3, $4, now() - interval '1 hour')`,
      [id, place, status, isEnd(errand.states[status]) ? new Date() : null],
    );
    return id;
  }

  const go = (id: string, status: string) =>
    db.query(
      `UPDATE errands SET status = $2, finished_at = CASE WHEN $2 IN ('done', 'failed') THEN now() END WHERE id = $1`,
      [id, status],
    );

  interface Steps {
    planned?: (row: Errand) => Promise<SagaStep>;
    under_way?: (row: Errand) => Promise<SagaStep>;
  }

  /** One process that runs errands. */
  function runner({ planned = async () => 'rest', under_way = async () => 'rest' }: Steps) {
    const find = async (id: string) =>
      (await db.query<Errand>('SELECT id, status FROM errands WHERE id = $1', [id])).rows[0];
    const sagas = createSagaRunner({
      db,
      logger: log.logger,
      handlers: [handleSaga(errand, find, { planned, under_way })],
    });
    return (id: string) => sagas.advance({ saga: 'errand', id });
  }

  async function jobs() {
    const { rows } = await db.query<{ key: string; task: string; delayMs: number }>(
      `SELECT key, task_identifier AS task, (extract(epoch FROM run_at - updated_at) * 1000)::float8 AS delay_ms
         FROM graphile_worker.jobs ORDER BY key`,
    );
    return rows;
  }

  /** As a worker does, before it runs them. */
  const takeJobs = () => db.query('DELETE FROM graphile_worker._private_jobs');

  describe('are run', () => {
    test('step after step, as far as they go', async () => {
      const id = await errandIn('planned');
      const steps: string[] = [];
      const advance = runner({
        planned: async ({ status }) => {
          steps.push(status);
          await go(id, 'under_way');
          return 'go_on';
        },
        under_way: async ({ status }) => {
          steps.push(status);
          await go(id, 'done');
          return 'go_on';
        },
      });
      await advance(id);
      await advance(id);
      expect(steps).toEqual(['planned', 'under_way']);
      expect(await jobs()).toEqual([]);
    });

    test('and are left alone where a person decides', async () => {
      const id = await errandIn('held');
      await runner({})(id);
      expect(await look(errand, id)).toMatchObject({ status: 'held', waitsFor: null });
      expect(await jobs()).toEqual([]);
    });

    test('and wait, which is written down once and is not news', async () => {
      const id = await errandIn('planned');
      const advance = runner({ planned: async () => ({ lookAgainInMs: 7_000, waitsFor: 'the shop to open' }) });
      await advance(id);
      const first = await look(errand, id);
      expect(first).toMatchObject({ waitsFor: 'the shop to open' });
      await takeJobs();
      await advance(id);
      expect(await look(errand, id)).toEqual(first);
      expect(await jobs()).toEqual([{ key: id, task: 'saga_shop', delayMs: 7_000 }]);
      expect(log.lines('info')).toEqual([]);
    });

    test('and look again later without putting off who was woken meanwhile', async () => {
      const id = await errandIn('planned');
      const advance = runner({
        planned: async () => {
          await wakeSaga(db, { saga: 'errand', id, lane: 'shop' });
          return { lookAgainInMs: 7_000, waitsFor: 'the shop to open' };
        },
      });
      await advance(id);
      const [job] = await jobs();
      expect(job?.delayMs).toBeLessThan(7_000);
    });

    test('and what they wait for is over with the next state', async () => {
      const id = await errandIn('planned');
      await runner({ planned: async () => ({ lookAgainInMs: 7_000, waitsFor: 'the shop to open' }) })(id);
      await go(id, 'under_way');
      expect(await look(errand, id)).toMatchObject({ waitsFor: null });
    });
  });

  describe('that go wrong', () => {
    const broken = async () => {
      throw new Error('the shop is closed');
    };

    test('wait, longer each time, and never end because of it', async () => {
      const id = await errandIn('planned');
      const advance = runner({ planned: broken });
      for (const most of [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]) {
        await takeJobs();
        await advance(id);
        const [job] = await jobs();
        expect(job).toMatchObject({ key: id, task: 'saga_shop' });
        expect(job?.delayMs).toBeGreaterThanOrEqual(most / 2);
        expect(job?.delayMs).toBeLessThanOrEqual(most);
      }
      expect(await look(errand, id)).toMatchObject({ status: 'planned', waitsFor: 'Error: the shop is closed' });
    });

    test('begin with short waits again when something else was waited for between', async () => {
      const id = await errandIn('planned');
      let isBroken = true;
      const advance = runner({
        planned: async () => (isBroken ? broken() : { lookAgainInMs: 1, waitsFor: 'the shop to open' }),
      });
      for (let time = 0; time < 6; time++) await advance(id);
      isBroken = false;
      await advance(id);
      isBroken = true;
      await takeJobs();
      await advance(id);
      expect((await jobs())[0]?.delayMs).toBeLessThanOrEqual(1_000);
    });

    test('wait as long as they were asked to', async () => {
      const id = await errandIn('planned');
      await runner({ planned: () => Promise.reject(Object.assign(new Error('busy'), { retryAfterMs: 90_000 })) })(id);
      expect((await jobs())[0]?.delayMs).toBe(90_000);
    });

    test('are told once, however many there are, and once for each place and trouble', async () => {
      const advance = runner({
        planned: broken,
        under_way: async () => ({ lookAgainInMs: 1, waitsFor: 'a way through', isTrouble: true }),
      });
      const ids = await Promise.all([1, 2, 3].map(() => errandIn('planned')));
      for (let time = 0; time < 3; time++) for (const id of ids) await advance(id);
      expect(log.lines('error')).toMatchObject([
        { saga: 'errand', lane: 'shop', id: ids[0], trouble: 'Error: the shop is closed', msg: 'a errand waits' },
      ]);
      await advance(await errandIn('planned', { place: 'market' }));
      await advance(await errandIn('under_way'));
      await advance(await errandIn('under_way'));
      expect(log.lines('error')).toMatchObject([{}, { lane: 'market' }, { lane: 'shop', trouble: 'a way through' }]);
    });

    test('are not made up for when the process ends', async () => {
      const id = await errandIn('planned');
      const advance = runner({
        planned: async () => {
          throw new Ended('here');
        },
      });
      await expect(advance(id)).rejects.toThrow(Ended);
      expect(await jobs()).toEqual([]);
      expect(await look(errand, id)).toMatchObject({ waitsFor: null });
    });
  });

  test('that are not there are no errands', async () => {
    await expect(runner({})('err_none')).rejects.toThrow('there is no errand err_none');
    const sagas = createSagaRunner({ db, logger: log.logger, handlers: [] });
    await expect(sagas.advance({ saga: 'errand', id: 'err_none' })).rejects.toThrow('there is no saga called errand');
  });

  test.each([
    ['vanish', (id: string) => db.query('DELETE FROM errands WHERE id = $1', [id])],
    ['are finished by another', (id: string) => go(id, 'done')],
  ])('that %s while they wait are not looked at again', async (_, end) => {
    const id = await errandIn('under_way');
    await runner({
      under_way: async () => {
        await end(id);
        return { lookAgainInMs: 1, waitsFor: 'nothing any more' };
      },
    })(id);
    expect(await jobs()).toEqual([]);
  });

  describe('are taken up again', () => {
    test('all that somebody has to go on with, when a process starts', async () => {
      const [planned, underWay] = [await errandIn('planned'), await errandIn('under_way', { place: 'market' })];
      await errandIn('held');
      await errandIn('done');
      await resumeAllSagas(db, [errand]);
      expect(await jobs()).toMatchObject([
        { key: planned, task: 'saga_shop', delayMs: 0 },
        { key: underWay, task: 'saga_market', delayMs: 0 },
      ]);
    });

    test('however many they are', async () => {
      await db.query(
        `INSERT INTO errands (id, what, place, status, updated_at)
         SELECT 'err_many_' || i, 'milk', 'shop', 'planned', now() - interval '1 hour' FROM generate_series(1, 1500) i`,
      );
      const { handler } = resumeSagasSchedule(db, [errand]);
      await handler.run({});
      expect(await jobs()).toHaveLength(1_000);
      await handler.run({});
      expect(await jobs()).toHaveLength(1_500);

      await db.query('SELECT graphile_worker.complete_jobs(array_agg(id)) FROM graphile_worker.jobs');
      await resumeAllSagas(db, [errand]);
      expect(await jobs()).toHaveLength(1_500);
    });

    test('and the job of a killed process does not count as given up', async () => {
      const id = await errandIn('planned');
      await wakeSaga(db, { saga: errand.name, id, lane: 'shop' });
      const all = 'SELECT key, attempts, locked_at IS NULL AS free FROM graphile_worker._private_jobs ORDER BY id';
      await db.query("UPDATE graphile_worker._private_jobs SET attempts = 1, locked_at = now(), locked_by = 'killed'");
      await wakeSaga(db, { saga: errand.name, id, lane: 'shop' });
      const replaced = { key: null, attempts: 25 };
      const { handler } = resumeSagasSchedule(db, [errand]);
      await handler.run({});
      expect((await db.query(all)).rows).toMatchObject([{ ...replaced, free: false }, { key: id }]);
      await db.query("SELECT graphile_worker.force_unlock_workers('{killed}')");
      expect((await db.query(all)).rows).toMatchObject([{ ...replaced, free: true }, { key: id }]);
      await handler.run({});
      expect((await db.query(all)).rows).toMatchObject([{ key: id, free: true }]);
    });

    test('every minute only those that nobody has looked at for a while', async () => {
      const [old, fresh] = [await errandIn('planned'), await errandIn('planned')];
      await runner({ planned: async () => ({ lookAgainInMs: 5_000, waitsFor: 'the shop to open' }) })(fresh);
      await resumeSagasSchedule(db, [errand]).handler.run({});
      expect(await jobs()).toMatchObject(
        [
          { key: old, delayMs: 0 },
          { key: fresh, delayMs: 5_000 },
        ].toSorted((a, b) => (a.key < b.key ? -1 : 1)),
      );
    });
  });

  describe('are shown to the operator', () => {
    /** Runs a command as the operator would. */
    async function paywright(...args: string[]): Promise<string[]> {
      const lines: string[] = [];
      const program = new Command('paywright').exitOverride();
      addSagaCommands(program, {
        withDatabase: (work) => work(db),
        sagas: [...listed, errand],
        details: hooksOf(features)(sagaDetails),
        say: (line) => void lines.push(line),
      });
      await program.parseAsync(['node', 'paywright', 'sagas', ...args]);
      return lines;
    }

    beforeEach(async () => {
      for (const { table } of listed) await db.query(`DELETE FROM ${table} WHERE finished_at IS NULL`);
    });

    const age = (id: string, interval: string) =>
      db.query('UPDATE errands SET status_since = now() - $2::interval WHERE id = $1', [id, interval]);

    test('those that are stuck first, then the oldest, and none that is finished', async () => {
      expect(await paywright('list')).toEqual(['Nothing is under way.']);
      const [held, young, stuck, older] = [
        await errandIn('held'),
        await errandIn('planned'),
        await errandIn('planned', { place: 'market' }),
        await errandIn('under_way'),
      ];
      await errandIn('done');
      await age(held, '3 days');
      expect(await paywright('list', '--stuck')).toEqual(['Nothing is stuck.']);
      await age(stuck, '2 minutes');
      await age(older, '3 minutes');
      const lines = await paywright('list');
      expect(lines.map((line) => line.match(/err_\d+/)?.[0])).toEqual([stuck, held, older, young]);
      expect(lines[0]).toBe(
        `STUCK errand ${stuck}   planned for 2 min   milk at market   waits for: somebody has to go`,
      );
      expect(lines[1]).toBe(`errand ${held}   held for 3 d   milk at shop   waits for: a person decides`);
      expect(await paywright('list', '--stuck')).toEqual([lines[0]]);
    });

    test('and counted for whoever watches, the stuck ones apart', async () => {
      const [stuck] = [await errandIn('planned'), await errandIn('planned'), await errandIn('held')];
      await errandIn('done');
      await age(stuck, '2 minutes');
      const told = await sagaMetrics(db, [...listed, errand]).read();
      const labels = { saga: 'errand' };
      expect(told['paywright_sagas_open']).toContainEqual({ labels, value: 3 });
      expect(told['paywright_sagas_stuck']).toContainEqual({ labels, value: 1 });
      expect(told['paywright_sagas_open']).toContainEqual({ labels: { saga: 'withdrawal' }, value: 0 });
    });

    test('one of them with its steps, finished or not', async () => {
      const id = await errandIn('under_way');
      await db.query("UPDATE errands SET waits_for = 'the way back' WHERE id = $1", [id]);
      await db.query(
        `INSERT INTO chain_steps (id, saga, saga_id, step, chain, wallet_id, state, asked_at, provider_ref, hash, reason, settled_at)
         VALUES (gen_random_uuid(), 'errand', $1, 'go', 'MATIC', 'wal_new', 'failed', now(), 'ref', '0x12', 'It rained.', now())`,
        [id],
      );
      const lines = await paywright('show', id);
      expect(lines.slice(0, 3)).toEqual([
        `errand ${id}: milk at shop`,
        'under_way: somebody has gone',
        'waits for: the way back',
      ]);
      expect(lines).toContainEqual(expect.stringMatching(/^ {2}what +milk$/));
      expect(lines).toContainEqual(expect.stringMatching(/^ {2}finished_at +-$/));
      expect(lines).toContainEqual(expect.stringMatching(/^ {2}notes +\{"milk":2\}$/));
      expect(lines.at(-1)).toMatch(
        /^step go on MATIC: failed {3}key [0-9a-f-]{36} {3}wallet wal_new {3}reference ref {3}transaction 0x12 {3}block - {3}It rained\.$/,
      );
      await go(id, 'done');
      expect((await paywright('show', id)).slice(0, 2)).toEqual([`errand ${id}: milk at shop`, 'done: it is done']);
    });

    test('and are looked at now when told to', async () => {
      const id = await errandIn('planned');
      await runner({ planned: async () => ({ lookAgainInMs: 50_000, waitsFor: 'the shop to open' }) })(id);
      expect(await paywright('resume', id)).toEqual([`${id} runs as soon as a worker is free.`]);
      expect(await jobs()).toEqual([{ key: id, task: 'saga_shop', delayMs: 0 }]);
    });

    test('but not where a person decides, nor what is over or was never there', async () => {
      const [held, done] = [await errandIn('held'), await errandIn('done')];
      await expect(paywright('resume', held)).rejects.toThrow(`${held} is held: a person decides.`);
      await expect(paywright('resume', done)).rejects.toThrow(`There is no saga ${done} under way.`);
      await expect(paywright('resume', 'err_none')).rejects.toThrow('There is no saga err_none under way.');
      await expect(paywright('show', 'err_none')).rejects.toThrow('There is no saga err_none.');
      expect(await jobs()).toEqual([]);
    });
  });
});
