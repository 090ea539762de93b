import type pg from 'pg';
import { afterAll, describe, expect, test } from 'vitest';
import { snapshotSchedule } from '../../../../src/custody/reserves/feature.ts';
import { findSnapshot } from '../../../../src/custody/reserves/read-proof.ts';
import { createReserves } from '../../../../src/custody/reserves/reserves.ts';
import { takeSnapshot } from '../../../../src/custody/reserves/take-snapshot.ts';
import { systemClock } from '../../../../src/kernel/clock.ts';
import type { Database } from '../../../../src/kernel/db/database.ts';
import { createLogger } from '../../../../src/kernel/log/logger.ts';
import { createLedger } from '../../../../src/ledger/ledger.ts';
import { useDatabase } from '../../../support/database.ts';
import { createOwners, fund } from '../../../support/ledger.ts';

const { db } = useDatabase();
const logger = createLogger('silent');
const ledger = createLedger({ db, logger });
afterAll(() => ledger.stop());

/** The same database, which is asked before each statement who keeps old rows from being cleared away. */
function watched(look: (text: string) => Promise<void>): Database {
  const pool = Object.create(db.pool) as pg.Pool;
  pool.connect = (async () => {
    const client = await db.pool.connect();
    const looking = Object.create(client) as pg.PoolClient;
    looking.query = (async (text: string, values?: unknown[]) => {
      await look(text);
      return client.query(text, values);
    }) as unknown as pg.PoolClient['query'];
    looking.release = (destroy) => client.release(destroy);
    return looking;
  }) as unknown as pg.Pool['connect'];
  return {
    ...db,
    pool,
    async query(text, values) {
      await look(text);
      return db.query(text, values);
    },
    transaction: (work) =>
      db.transaction((tx) =>
        work({
          ...tx,
          async query(text, values) {
            await look(text);
            return tx.query(text, values);
          },
        }),
      ),
  };
}

describe('while a snapshot is taken', () => {
  test('no transaction stays open: neither while balances are read, nor while trees are built and written', async () => {
    await fund(ledger, await createOwners(db, 300), 1_000_000n);
    const seen: { readonly text: string; readonly open: number }[] = [];
    const id = await takeSnapshot(
      watched(async (text) => {
        const { rows } = await db.query<{ open: number }>(
          `SELECT count(*)::int AS open FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
              AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL OR state = 'idle in transaction')`,
        );
        seen.push({ text, open: rows[0]?.open ?? -1 });
      }),
      { minAgeMs: 0 },
    );
    expect(id).toMatch(/^rsv_/);
    const during = (part: string) => seen.filter(({ text }) => text.includes(part)).map(({ open }) => open);
    // Only the copy before these and the publication after them are transactions.
    for (const part of ['FETCH', 'handle', 'INSERT INTO reserve_pages', 'INSERT INTO reserve_owners']) {
      expect(during(part).length, part).toBeGreaterThan(0);
      expect(new Set(during(part)), part).toEqual(new Set([0]));
    }
  });

  test('and after one that failed, nothing of it is left in the pool', async () => {
    const failing = takeSnapshot(
      watched(async (text) => {
        if (text.startsWith('FETCH')) throw new Error('the network is gone');
      }),
      { minAgeMs: 0 },
    );
    await expect(failing).rejects.toThrow('the network is gone');
    expect(await takeSnapshot(db, { minAgeMs: 0 })).toMatch(/^rsv_/);
    const { rows } = await db.query("SELECT FROM pg_cursors WHERE name = 'balances'");
    expect(rows).toEqual([]);
  });

  test('the hourly job lets go after a while, and what it began is finished', async () => {
    const before = await findSnapshot(db);
    let letGo = () => {};
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const slow = watched(async (text) => {
      if (text.includes('INSERT INTO reserve_pages')) await held;
    });
    const reserves = createReserves({
      db: slow,
      networks: new Map(),
      logger,
      clock: systemClock,
      snapshotMinAgeMs: 0,
      patienceMs: 1,
    });
    await snapshotSchedule(reserves).handler.run({});
    expect(await findSnapshot(db)).toMatchObject({ id: before?.id });
    letGo();
    await reserves.snapshot();
    expect((await findSnapshot(db))?.id).not.toBe(before?.id);
  });
});
