import { expect, test } from 'vitest';
import { resumeAllSagas, resumeSagasSchedule } from '../../src/sagas/resume-sagas.ts';
import { withdrawalSaga } from '../../src/withdrawals/saga.ts';
import { useDatabase } from '../support/database.ts';

const { db } = useDatabase();

test('whoever has no job gets one, however many older ones wait', async () => {
  await db.query(
    `INSERT INTO withdrawals (id, chain, asset, address, gross, fee, net, status, waits_for, created_at, updated_at)
     SELECT 'wdr_' || lpad(i::text, 8, '0'), CASE WHEN i <= 1000 THEN 'MATIC' ELSE 'BASE' END, 'USDC', $1, 10, 1, 9,
            'awaiting_liquidity', 'USDC to reach the treasury', now() - interval '1 hour', now() - interval '1 hour'
       FROM generate_series(1, 1001) i`,
    [`0x${'1'.repeat(40)}`],
  );
  await resumeAllSagas(db, [withdrawalSaga]);
  const schedule = resumeSagasSchedule(db, [withdrawalSaga]);
  for (let minute = 0; minute < 5; minute++) {
    await schedule.handler.run({});
    // What the workers do with those that wait: they look, and nothing has changed.
    await db.query('DELETE FROM graphile_worker._private_jobs WHERE key <> $1', ['wdr_00001001']);
  }
  const { rows } = await db.query("SELECT key FROM graphile_worker._private_jobs WHERE key = 'wdr_00001001'");
  expect(rows).toEqual([{ key: 'wdr_00001001' }]);
});
