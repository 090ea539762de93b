import { expect, test } from 'vitest';
import { stranger } from '../../../contract/workbench.ts';
import { handOf } from '../../../support/custody.ts';
import { useDepositWorld } from '../../../support/deposits.ts';
import { fund } from '../../../support/ledger.ts';

const world = useDepositWorld();

test('of those who wait for liquidity only the first looks often, and leaves the lane to whoever brings it', async () => {
  const { db } = world.database;
  const hand = handOf(world);
  const users = await world.newUsers(4);
  await fund(world.ledger, users, 100_000_000n);
  const ids: string[] = [];
  for (const { id } of users) ids.push(await hand.withdraw(id, { gross: 10_000_000n, fee: 1_000n, to: stranger() }));
  // As a worker does, before it runs them.
  await db.query('DELETE FROM graphile_worker._private_jobs');
  for (const id of ids) await hand.advance(id);
  const { rows } = await db.query<{ key: string; delayMs: number }>(
    `SELECT key, (extract(epoch FROM run_at - updated_at) * 1000)::float8 AS delay_ms FROM graphile_worker.jobs ORDER BY key`,
  );
  expect(rows.map(({ key }) => key)).toEqual(ids);
  const [first, ...others] = rows.map(({ delayMs }) => delayMs);
  expect(first).toBeLessThanOrEqual(3_000);
  for (const delayMs of others) expect(delayMs).toBeGreaterThanOrEqual(15_000);
});
