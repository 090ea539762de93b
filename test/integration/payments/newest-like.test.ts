import { expect, test } from 'vitest';
import type { Queryable } from '../../../src/kernel/db/database.ts';
import { amountOf } from '../../../src/money/amount.ts';
import * as bridges from '../../../src/payments/bridge/open-bridge.ts';
import * as swaps from '../../../src/payments/swaps/open-swap.ts';
import * as withdrawals from '../../../src/payments/withdrawals/open-withdrawal.ts';
import { useDatabase } from '../../support/database.ts';

const { db } = useDatabase();
const usdc = amountOf('USDC', 1n);
const accountId = 1n;

const searches: Readonly<Record<string, (tx: Queryable) => Promise<unknown>>> = {
  withdrawals: (tx) => withdrawals.newestLike(tx, { accountId, chain: 'MATIC', address: '0x1', gross: usdc }),
  bridges: (tx) => bridges.newestLike(tx, { accountId, from: 'MATIC', to: 'BASE', taken: usdc }),
  swaps: (tx) => swaps.newestLike(tx, { accountId, amount: usdc, amountOut: amountOf('ETH', 1n) }),
};

/** The plans of what the work asks. */
async function plansOf(work: (tx: Queryable) => Promise<unknown>): Promise<string> {
  const plans: string[] = [];
  await db.transaction(async (tx) => {
    // The tables are empty, and would be read whole.
    await tx.query('SET LOCAL enable_seqscan = off');
    const explaining = {
      async query(text: string, values: readonly unknown[]) {
        const { rows } = await tx.query(`EXPLAIN ${text}`, values);
        plans.push(JSON.stringify(rows));
        return { rows: [], rowCount: 0 };
      },
    };
    await work(explaining as unknown as Queryable);
  });
  return plans.join('\n');
}

test.each(Object.entries(searches))(
  'only the newest %s of an account are read, however many it has',
  async (_, work) => {
    expect(await plansOf(work)).toMatch(/Index Cond: \(\(account_id = [^)]*\) AND \(created_at > /);
  },
);
