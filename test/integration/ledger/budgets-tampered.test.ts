import { afterAll, beforeAll, expect, it } from 'vitest';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { userAccount } from '../../../src/ledger/account-id.ts';
import { createLedger } from '../../../src/ledger/ledger.ts';
import type { Posting } from '../../../src/ledger/posting.ts';
import { verifyLedger } from '../../../src/ledger/verify.ts';
import { amountOf } from '../../../src/money/amount.ts';
import type { Asset } from '../../../src/money/catalogue.ts';
import { changeStamp, createBudget, readBudget } from '../../support/budgets.ts';
import { useDatabase } from '../../support/database.ts';
import { createOwners, deposit, fund, transfer } from '../../support/ledger.ts';
import { until } from '../../support/until.ts';

const { db } = useDatabase();
const ledger = createLedger({ db, logger: createLogger('silent') });
const beside = createLedger({ db, logger: createLogger('silent') });
type Owner = { readonly id: bigint; readonly keyId: string };
let ada: Owner;
let bob: Owner;
let stamp: bigint;

beforeAll(async () => {
  [ada, bob] = (await createOwners(db, 2)) as [Owner, Owner];
  await fund(ledger, [ada, bob], 1_000_000n);
  await ledger.post(deposit(ada.id, 1_000_000n, 'deposit:eurc', 'EURC'));
  stamp = await changeStamp(db, ada.id);
});
afterAll(async () => {
  await ledger.stop();
  await beside.stop();
});

const pay = (amount: bigint, budgets: readonly bigint[], asset: Asset = 'USDC', more: Partial<Posting> = {}): Posting =>
  transfer(ada.id, bob.id, amount, {
    keyId: ada.keyId,
    amount: amountOf(asset, amount),
    authority: { stamp, spends: budgets.map((budget) => ({ budget, amount })) },
    ...more,
  });

it('payments in two currencies and returns take together what there is, by two instances at once', async () => {
  const once = await createBudget(db, ada, { most: 400n, name: 'once' });
  const rolling = await createBudget(db, ada, { most: 10_000n, name: 'rolling', span: 'rolling', seconds: 60 });
  const deadlocks = async () =>
    (await db.query<{ n: bigint }>('SELECT deadlocks AS n FROM pg_stat_database WHERE datname = current_database()'))
      .rows[0]?.n;
  const dead = await deadlocks();
  const refused = new Map<string, number>();
  let spent = 0n;
  let back = 0n;
  const begin = Date.now();
  let limit = 10_000n;
  for (let round = 0; Date.now() - begin < 12_000; round++) {
    const work: Promise<void>[] = [];
    for (let n = 0; n < 24; n++) {
      const id = `wdr_${round}_${n}`;
      const asset = n % 2 === 0 ? 'USDC' : 'EURC';
      const by = n % 3 === 0 ? beside : ledger;
      const amount = BigInt(1 + (n % 7));
      const opened = pay(amount, n % 4 === 0 ? [once, rolling] : [rolling], asset, { spentOn: id });
      work.push(
        by.post(opened).then(async ({ outcome }) => {
          refused.set(outcome, (refused.get(outcome) ?? 0) + 1);
          if (outcome !== 'posted') return;
          spent += amount;
          if (n % 2 === 0) return;
          const { outcome: returned } = await (n % 5 === 0 ? ledger : beside).post({
            type: 'withdrawal_refund',
            amount: amountOf(asset, 1n),
            recipientId: ada.id,
            reference: `refund:${id}`,
            entries: [
              { account: userAccount(bob.id, asset), atomic: -1n },
              { account: userAccount(ada.id, asset), atomic: 1n },
            ],
            returns: { of: id, part: 1n, whole: amount },
          });
          if (returned === 'posted') back += 1n;
        }),
      );
    }
    work.push(
      db
        .transaction(async (tx) => {
          await tx.query('SELECT ledger.lock_owner($1)', [ada.id]);
          const next = await changeStamp(tx, ada.id);
          limit = round % 2 === 0 ? 200n : 10_000n;
          await tx.query('UPDATE ledger.budgets SET most = $2 WHERE id = $1', [rolling, limit]);
          return next;
        })
        .then((next) => {
          stamp = next;
        }),
    );
    await Promise.all(work);
  }

  expect((await verifyLedger(db)).problems).toEqual([]);
  expect(await deadlocks()).toBe(dead);
  expect((await readBudget(db, once)).spent <= 400n).toBe(true);
  // Every bucket has what payments took, and no other.
  expect(spent - back > 0n).toBe(true);
}, 60_000);

it('verifyLedger finds a limit that is not that of the policy', async () => {
  const budget = await createBudget(db, ada, { most: 100n, name: 'limit' });
  await db.query('UPDATE ledger.budget_counts SET most = 1000 WHERE budget = $1', [budget]);
  expect((await ledger.post(pay(900n, [budget]))).outcome).toBe('posted');
  expect((await verifyLedger(db)).problems).toContainEqual(expect.stringContaining(`Budget ${budget} `));
});

it('verifyLedger finds a window that was made to never end', async () => {
  const budget = await createBudget(db, ada, { most: 100n, name: 'window', span: 'day' });
  await ledger.post(pay(10n, [budget]));
  await db.query(`UPDATE ledger.budget_counts SET bucket_until = 'infinity' WHERE budget = $1`, [budget]);
  expect((await verifyLedger(db)).problems).toContainEqual(expect.stringContaining(`Budget ${budget} `));
});

it('a posting that waits for a change of the stamp is judged again', async () => {
  const budget = await createBudget(db, ada, { most: 100n, name: 'rotated' });
  let outcome: Promise<{ outcome: string }> | undefined;
  const next = await db.transaction(async (tx) => {
    // As the rotation of a key with an overlap: without lockOwner (renewStamp).
    const renewed = await changeStamp(tx, ada.id);
    outcome = ledger.post(pay(10n, [budget]));
    await until('the posting to wait', async () => {
      const { rows } = await db.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
      return rows.length > 0;
    });
    return renewed;
  });
  expect((await outcome)?.outcome).toBe('stale');
  stamp = next;
});
