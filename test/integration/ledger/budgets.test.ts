import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { onlyRow } from '../../../src/kernel/db/database.ts';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { houseAccount, userAccount } from '../../../src/ledger/account-id.ts';
import { createLedger } from '../../../src/ledger/ledger.ts';
import type { Posting } from '../../../src/ledger/posting.ts';
import { verifyLedger } from '../../../src/ledger/verify.ts';
import { amountOf } from '../../../src/money/amount.ts';
import { changeStamp, createBudget, readBudget } from '../../support/budgets.ts';
import { useDatabase } from '../../support/database.ts';
import { createOwners, fund, scope, transfer } from '../../support/ledger.ts';

const { db } = useDatabase();
let woken = 0;
const ledger = createLedger({ db, logger: createLogger('silent'), onEvents: () => void woken++ });

type Owner = { readonly id: bigint; readonly keyId: string };
let ada: Owner;
let bob: Owner;
let stamp: bigint;

beforeAll(async () => {
  [ada, bob] = (await createOwners(db, 2)) as [Owner, Owner];
  await fund(ledger, [ada], 1_000_000n);
  stamp = await changeStamp(db, ada.id);
});
afterAll(async () => {
  expect((await verifyLedger(db)).problems).toEqual([]);
  await ledger.stop();
});

let named = 0;
const newBudget = (most: bigint, more: Partial<Parameters<typeof createBudget>[2]> = {}) =>
  createBudget(db, ada, { most, name: `b${named++}`, ...more });

/** Ada pays Bob, and takes the same amount of each budget. */
function pay(amount: bigint, budgets: readonly bigint[], more: Partial<Posting> = {}): Posting {
  const spends = budgets.map((budget) => ({ budget, amount }));
  return transfer(ada.id, bob.id, amount, { keyId: ada.keyId, authority: { stamp, spends }, ...more });
}

/** Opens what may fail: the money is in transit. */
function open(amount: bigint, budgets: readonly bigint[], id: string): Posting {
  return {
    ...pay(amount, budgets),
    type: 'withdrawal',
    reference: `withdrawal:${id}`,
    fee: amountOf('USDC', 0n),
    entries: [
      { account: userAccount(ada.id, 'USDC'), atomic: -amount },
      { account: houseAccount('withdrawals_in_transit', 'USDC'), atomic: amount },
    ],
    spentOn: id,
  };
}

let returned = 0;
function giveBack(part: bigint, whole: bigint, id: string): Posting {
  return {
    type: 'withdrawal_refund',
    amount: amountOf('USDC', part),
    recipientId: ada.id,
    reference: `refund:${id}:${returned++}`,
    entries: [
      { account: houseAccount('withdrawals_in_transit', 'USDC'), atomic: -part },
      { account: userAccount(ada.id, 'USDC'), atomic: part },
    ],
    returns: { of: id, part, whole },
  };
}

const outcomeOf = async (posting: Posting) => (await ledger.post(posting)).outcome;

describe('a budget', () => {
  it('is taken to the last unit, and no further', async () => {
    const budget = await newBudget(100n);
    expect(await outcomeOf(pay(60n, [budget]))).toBe('posted');
    expect(await ledger.post(pay(41n, [budget]))).toEqual({
      outcome: 'budget_exceeded',
      exceeded: [
        { key: ada.keyId, id: expect.any(String), onExceed: 'deny', remaining: amountOf('USDC', 40n), resetsAt: null },
      ],
    });
    expect(await outcomeOf(pay(40n, [budget]))).toBe('posted');
    expect(await readBudget(db, budget)).toEqual({ spent: 100n, remaining: 0n, resetsAt: null });
  });

  it('is not touched by a payment that another budget refuses', async () => {
    const [wide, narrow] = [await newBudget(100n), await newBudget(10n, { span: 'day' })];
    const refused = await ledger.post(pay(11n, [wide, narrow]));
    expect(refused).toMatchObject({ outcome: 'budget_exceeded', exceeded: [{ remaining: amountOf('USDC', 10n) }] });
    expect(await readBudget(db, wide)).toMatchObject({ spent: 0n });
  });

  it('is not touched by a payment that the balance does not cover, and comes before the balance', async () => {
    const budget = await newBudget(10_000_000n);
    expect(await outcomeOf(pay(2_000_000n, [budget]))).toBe('insufficient_balance');
    expect(await readBudget(db, budget)).toMatchObject({ spent: 0n });
    expect(await outcomeOf(pay(20_000_000n, [budget]))).toBe('budget_exceeded');
  });

  it('counts a replay once', async () => {
    const budget = await newBudget(100n);
    const posting = pay(80n, [budget], { idempotency: scope(ada.id, 'once') });
    expect(await outcomeOf(posting)).toBe('posted');
    expect(await outcomeOf(posting)).toBe('duplicate');
    expect(await readBudget(db, budget)).toMatchObject({ spent: 80n });
  });

  it('leaves the key of a refused payment free', async () => {
    const budget = await newBudget(10n);
    const posting = pay(20n, [budget], { idempotency: scope(ada.id, 'later') });
    expect(await outcomeOf(posting)).toBe('budget_exceeded');
    await db.query('UPDATE ledger.budgets SET most = 20 WHERE id = $1', [budget]);
    expect(await outcomeOf(posting)).toBe('posted');
  });

  it('that is lowered below what was spent has nothing left, and keeps what was spent', async () => {
    const budget = await newBudget(100n);
    await ledger.post(pay(60n, [budget]));
    await db.query('UPDATE ledger.budgets SET most = 50 WHERE id = $1', [budget]);
    expect(await readBudget(db, budget)).toMatchObject({ spent: 60n, remaining: 0n });
    expect(await outcomeOf(pay(1n, [budget]))).toBe('budget_exceeded');
    await db.query('UPDATE ledger.budgets SET most = 61 WHERE id = $1', [budget]);
    expect(await outcomeOf(pay(1n, [budget]))).toBe('posted');
  });

  it('is never overspent, whatever writes to it', async () => {
    const budget = await newBudget(100n);
    await expect(
      db.query('UPDATE ledger.budget_counts SET spent = 101, bucket = 0, in_bucket = 101 WHERE budget = $1', [budget]),
    ).rejects.toThrow('would be overspent');
    await expect(db.query('DELETE FROM ledger.budgets WHERE id = $1', [budget])).rejects.toThrow();
    await expect(db.query(`UPDATE ledger.budgets SET span = 'day' WHERE id = $1`, [budget])).rejects.toThrow();
  });
});

describe('a posting of a key', () => {
  it('that was judged by other policies is stale, and moves nothing', async () => {
    const budget = await newBudget(100n);
    for (const wrong of [0n, stamp - 1n, stamp + 1n]) {
      expect(
        await outcomeOf(pay(10n, [budget], { authority: { stamp: wrong, spends: [{ budget, amount: 10n }] } })),
      ).toBe('stale');
      expect(await outcomeOf(pay(10n, [], { authority: { stamp: wrong, spends: [] } }))).toBe('stale');
    }
    const { authority: _, ...unjudged } = pay(10n, []);
    expect(await outcomeOf(unjudged)).toBe('stale');
    expect(await readBudget(db, budget)).toMatchObject({ spent: 0n });
  });

  it('is stale from the moment that policies change, under any concurrency', async () => {
    const budget = await newBudget(1_000n);
    const before = stamp;
    const spends = [{ budget, amount: 1n }];
    const paid: Promise<string>[] = [];
    for (let n = 0; n < 50; n++) paid.push(outcomeOf(pay(1n, [], { authority: { stamp: before, spends } })));
    await db.transaction(async (tx) => {
      await tx.query('SELECT ledger.lock_owner($1)', [ada.id]);
      stamp = await changeStamp(tx, ada.id);
    });
    const { spent } = await readBudget(db, budget);
    for (let n = 0; n < 50; n++) paid.push(outcomeOf(pay(1n, [], { authority: { stamp: before, spends } })));
    const outcomes = await Promise.all(paid);
    expect(outcomes.slice(50)).toEqual(Array(50).fill('stale'));
    expect(BigInt(outcomes.filter((outcome) => outcome === 'posted').length)).toBe(spent);
    expect((await readBudget(db, budget)).spent).toBe(spent);
  });
});

describe('what was spent on something', () => {
  it('is given back in shares, at most all of it', async () => {
    const [one, other] = [await newBudget(100n), await newBudget(1_000n, { span: 'month' })];
    const opened = open(90n, [one], 'wdr_a');
    const spends = [
      { budget: one, amount: 90n },
      { budget: other, amount: 100n },
    ];
    expect(await outcomeOf({ ...opened, authority: { stamp, spends } })).toBe('posted');
    await ledger.post(giveBack(30n, 90n, 'wdr_a'));
    expect([(await readBudget(db, one)).spent, (await readBudget(db, other)).spent]).toEqual([60n, 67n]);
    await ledger.post(giveBack(30n, 90n, 'wdr_a'));
    expect([(await readBudget(db, one)).spent, (await readBudget(db, other)).spent]).toEqual([30n, 34n]);
    await ledger.post(giveBack(30n, 90n, 'wdr_a'));
    expect([(await readBudget(db, one)).spent, (await readBudget(db, other)).spent]).toEqual([0n, 0n]);
  });

  it('is given back once, however often a step runs', async () => {
    const budget = await newBudget(100n);
    await ledger.post(open(50n, [budget], 'wdr_b'));
    const back = giveBack(20n, 50n, 'wdr_b');
    expect(await outcomeOf(back)).toBe('posted');
    expect(await outcomeOf(back)).toBe('duplicate');
    expect((await readBudget(db, budget)).spent).toBe(30n);
  });

  it('is never rounded up when it is given back, whatever it was counted in', async () => {
    const budget = await newBudget(100n);
    await ledger.post(open(50n, [budget], 'wdr_wei'));
    const whole = 500n * 10n ** 18n;
    await ledger.post({ ...giveBack(1n, 1n, 'wdr_wei'), returns: { of: 'wdr_wei', part: whole - 1n, whole } });
    expect((await readBudget(db, budget)).spent).toBe(1n);
  });

  it('returns nothing where no budget was taken', async () => {
    await ledger.post(open(50n, [], 'wdr_c'));
    expect(await outcomeOf(giveBack(50n, 50n, 'wdr_c'))).toBe('posted');
  });
});

it('announces 50, 80 and 100 percent once', async () => {
  await db.query(`INSERT INTO ledger.event_subscriptions VALUES ($1, 'budget.threshold')`, [ada.id]);
  const budget = await newBudget(10_000_000n - 9_999_000n, { span: 'day', name: 'told' });
  for (const amount of [400n, 100n, 1n, 399n, 99n]) await ledger.post(pay(amount, [budget]));
  await ledger.post(open(1n, [budget], 'wdr_told'));
  await ledger.post(giveBack(1n, 1n, 'wdr_told'));
  await ledger.post(pay(1n, [budget]));
  const { rows } = await db.query<{ data: unknown }>(
    `SELECT data FROM ledger.events WHERE type = 'budget.threshold' AND data->>'budget' = 'told' ORDER BY id`,
  );
  const about = { key: ada.keyId, budget: 'told', limit: '0.001' };
  expect(rows.map(({ data }) => data)).toEqual([
    { ...about, threshold: 50, spent: '0.0005' },
    { ...about, threshold: 80, spent: '0.0009' },
    { ...about, threshold: 100, spent: '0.001' },
  ]);
});

it('a threshold wakes whoever sends events, although the payment has none', async () => {
  const budget = await newBudget(100n);
  woken = 0;
  await ledger.post(pay(1n, []));
  expect(woken).toBe(0);
  await ledger.post(pay(60n, [budget]));
  expect(woken).toBe(1);
});

it('verifyLedger finds a budget whose row was emptied, and a bucket that no payment made', async () => {
  const budget = await newBudget(100n, { span: 'day' });
  await ledger.post(pay(60n, [budget]));
  const { bucket } = onlyRow(
    await db.query<{ bucket: bigint }>('SELECT bucket FROM ledger.budget_counts WHERE budget = $1', [budget]),
  );
  const write = (spent: bigint, last: bigint | null) =>
    db.query('UPDATE ledger.budget_counts SET spent = $2, in_bucket = $2, bucket = $3 WHERE budget = $1', [
      budget,
      spent,
      last,
    ]);
  const problems = async () => (await verifyLedger(db)).problems;
  const missing = expect.stringContaining(`Budget ${budget} has 0 spent in bucket ${bucket}, but payments took 60`);
  await write(0n, null);
  expect(await problems()).toEqual([missing]);
  const tomorrow = BigInt(bucket) + 1n;
  await write(0n, tomorrow);
  expect(await problems()).toContainEqual(
    expect.stringContaining(`Budget ${budget} has 0 spent in bucket ${tomorrow}, which no payment took`),
  );
  await write(60n, bucket);
  expect(await problems()).toEqual([]);
});

it('a posting that holds its accounts never waits for the row of an account, which a change of policies holds', async () => {
  const budget = await newBudget(1_000n, { name: 'no deadlock' });
  await ledger.post(open(10n, [budget], 'wdr_held'));
  await db.transaction(async (tx) => {
    await tx.query('SELECT FROM accounts WHERE id = $1 FOR UPDATE', [ada.id]);
    // Each writes the budget's row twice: one reaches a threshold, the other also gives back.
    const reaching = pay(500n, [budget]);
    expect(await outcomeOf(reaching)).toBe('posted');
    const both = await db.transaction((inner) =>
      ledger.postWithin(inner, [pay(20n, [budget]), giveBack(10n, 10n, 'wdr_held')]),
    );
    expect(both.map(({ outcome }) => outcome)).toEqual(['posted', 'posted']);
  });
  expect((await readBudget(db, budget)).spent).toBe(520n);
});

it('several payments of one batch and several instances take together what there is', async () => {
  const budget = await newBudget(100n);
  const other = createLedger({ db, logger: createLogger('silent') });
  const tries = Array.from({ length: 150 }, (_, n) => (n % 2 === 0 ? ledger : other).post(pay(1n, [budget])));
  const outcomes = (await Promise.all(tries)).map(({ outcome }) => outcome);
  expect(outcomes.filter((outcome) => outcome === 'posted')).toHaveLength(100);
  expect(outcomes.filter((outcome) => outcome === 'budget_exceeded')).toHaveLength(50);
  await other.stop();
});
