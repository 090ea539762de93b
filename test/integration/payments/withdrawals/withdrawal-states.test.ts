import { describe, expect, test } from 'vitest';
import { type WithdrawalStatus, withdrawalSaga } from '../../../../src/payments/withdrawals/saga.ts';
import { useDatabase } from '../../../support/database.ts';

const { db } = useDatabase();

const withdrawalStatuses = Object.keys(withdrawalSaga.states) as WithdrawalStatus[];

let count = 0;
const finished = (status: WithdrawalStatus) => ['complete', 'failed', 'cancelled'].includes(status);

async function withdrawalIn(status: WithdrawalStatus): Promise<string> {
  const id = `wdr_${++count}`;
  await db.query(
    `INSERT INTO withdrawals (id, chain, asset, address, gross, fee, net, status, finished_at)
     VALUES ($1, 'MATIC', 'USDC', $2, 10, 1, 9, $3, $4)`,
    [id, `0x${'1'.repeat(40)}`, status, finished(status) ? new Date() : null],
  );
  return id;
}

const move = (id: string, to: WithdrawalStatus) =>
  db.query('UPDATE withdrawals SET status = $2, finished_at = $3 WHERE id = $1', [
    id,
    to,
    finished(to) ? new Date() : null,
  ]);

describe.each(withdrawalStatuses)('a withdrawal that is %s', (from) => {
  test.each(withdrawalStatuses.filter((to) => to !== from))('becomes %s only if the table says so', async (to) => {
    const id = await withdrawalIn(from);
    const next: readonly string[] = withdrawalSaga.states[from].next;
    if (next.includes(to)) await move(id, to);
    else await expect(move(id, to)).rejects.toThrow(`withdrawal ${id} cannot go from ${from} to ${to}`);
  });
});

test.each(['gross = 11, net = 10', "address = '0x2222222222222222222222222222222222222222'"])(
  'what was asked for never changes: %s',
  async (change) => {
    const id = await withdrawalIn('queued');
    await expect(db.query(`UPDATE withdrawals SET ${change} WHERE id = $1`, [id])).rejects.toThrow('another one');
  },
);

test('gross is fee and net together, and a row says when it ended', async () => {
  const insert = (gross: number, status: string, end: Date | null) =>
    db.query(
      `INSERT INTO withdrawals (id, chain, asset, address, gross, fee, net, status, finished_at)
       VALUES ('wdr_x', 'MATIC', 'USDC', $1, $2, 1, 9, $3, $4)`,
      [`0x${'1'.repeat(40)}`, gross, status, end],
    );
  await expect(insert(11, 'queued', null)).rejects.toThrow('check');
  await expect(insert(10, 'complete', null)).rejects.toThrow('is complete, and finished at <NULL>');
  await expect(insert(10, 'queued', new Date())).rejects.toThrow('is queued, and finished at');
  await expect(insert(10, 'lost', null)).rejects.toThrow('a withdrawal cannot be lost');
});
