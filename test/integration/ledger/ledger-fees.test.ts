import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { onlyRow } from '../../../src/kernel/db/database.ts';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { houseAccount, inSlot, slotCount, slotsOf } from '../../../src/ledger/account-id.ts';
import { houseBalance, houseBalances } from '../../../src/ledger/balances.ts';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { type PostCall, type PostRow, postBatch } from '../../../src/ledger/post-batch.ts';
import type { Posting } from '../../../src/ledger/posting.ts';
import { verifyLedger } from '../../../src/ledger/verify.ts';
import { amountOf } from '../../../src/money/amount.ts';
import { homeChain } from '../../../src/money/catalogue.ts';
import { useDatabase } from '../../support/database.ts';
import { createOwners, fund, transfer } from '../../support/ledger.ts';

/** The account for fees, which is kept in slots so that batches need not wait for each other. */
const { db } = useDatabase();
const logger = createLogger('silent');
const ledger = createLedger({ db, logger });
afterAll(() => ledger.stop());
const fees = houseAccount('fees', 'USDC');
let ada = 0n;
let bob = 0n;

const earned = async () => (await houseBalance(db, 'fees', 'USDC', homeChain)).atomic;

async function payWith(slot: number, posting: Posting, query = db.query): Promise<string> {
  const run = async ({ text }: PostCall, values: (string | null)[]) => onlyRow(await query<PostRow>(text, values));
  const { outcomes } = await postBatch(run, [posting], { isKnown: () => false, isStored: () => false, slot });
  return (outcomes[0] as { outcome: string }).outcome;
}

function takeFees(atomic: bigint, recipient = ada): Posting {
  return {
    ...transfer(ada, recipient, atomic, { fee: amountOf('USDC', 0n) }),
    type: 'fees_taken',
    entries: [
      { account: fees, atomic: -atomic },
      { account: houseAccount('merchants', 'USDC'), atomic },
    ],
  };
}

beforeAll(async () => {
  const owners = await createOwners(db, 2);
  await fund(ledger, owners, 1_000_000n);
  [ada = 0n, bob = 0n] = owners.map(({ id }) => id);
  for (let slot = 0; slot < slotCount; slot++) expect(await payWith(slot, transfer(ada, bob, 1_000n))).toBe('posted');
});

describe('fees', () => {
  it('lie in every slot, and are one balance', async () => {
    const { rows } = await db.query<{ balance: bigint }>('SELECT balance FROM ledger.accounts WHERE id = ANY ($1)', [
      slotsOf(fees),
    ]);
    expect(rows.map(({ balance }) => balance)).toEqual(Array(slotCount).fill(10n));
    expect(await earned()).toBe(160n);
    const listed = (await houseBalances(db)).filter(({ kind }) => kind === 'fees');
    expect(listed).toMatchObject([{ account: fees, ownerId: null, balance: { atomic: 160n } }]);
  });

  it('are credited while another transaction holds another slot', async () => {
    await db.transaction(async (tx) => {
      await tx.query('SELECT FROM ledger.accounts WHERE id = $1 FOR UPDATE', [inSlot(fees, 3)]);
      expect(await payWith(4, transfer(ada, bob, 1_000n))).toBe('posted');
    });
    expect(await earned()).toBe(170n);
  });

  it('are gathered from all slots for whoever takes them, and no more can be taken than there is', async () => {
    expect(await ledger.post(takeFees(171n))).toEqual({ outcome: 'insufficient_balance' });
    expect(await ledger.post(takeFees(165n))).toMatchObject({ outcome: 'posted' });
    expect(await earned()).toBe(5n);
    const within = await db.transaction((tx) => ledger.postWithin(tx, [transfer(ada, bob, 500n), takeFees(10n)]));
    expect(within.map(({ outcome }) => outcome)).toEqual(['posted', 'posted']);
    expect(await earned()).toBe(0n);
  });

  it('are taken once, when many want all of them at once', async () => {
    for (let slot = 0; slot < 8; slot++) await payWith(slot, transfer(ada, bob, 1_000n));
    const outcomes = await Promise.all(Array.from({ length: 6 }, () => ledger.post(takeFees(80n))));
    expect(outcomes.filter(({ outcome }) => outcome === 'posted')).toHaveLength(1);
    expect(outcomes.filter(({ outcome }) => outcome === 'insufficient_balance')).toHaveLength(5);
    expect(await earned()).toBe(0n);
  });

  it('come in while others are taken, and none are lost', async () => {
    const before = await earned();
    const paid = Array.from({ length: 40 }, () => ledger.post(transfer(ada, bob, 1_000n)));
    const taken = Array.from({ length: 10 }, () => ledger.post(takeFees(7n)));
    expect(new Set((await Promise.all(paid)).map(({ outcome }) => outcome))).toEqual(new Set(['posted']));
    const gone = (await Promise.all(taken)).filter(({ outcome }) => outcome === 'posted').length;
    expect(await earned()).toBe(before + 400n - BigInt(gone) * 7n);
    expect((await verifyLedger(db)).problems).toEqual([]);
  });

  it('lie in the same slots for the database', async () => {
    for (const account of [fees, houseAccount('fees', 'EURC', 'BASE'), houseAccount('custody', 'USDC')]) {
      const { rows } = await db.query<{ slots: bigint[] }>('SELECT ledger.slots_of($1) AS slots', [account]);
      expect(rows[0]?.slots.map(Number)).toEqual(slotsOf(account));
    }
  });

  it.each([
    ['a sixteenth slot', inSlot(fees, 16)],
    ['a slot of another account', inSlot(houseAccount('merchants', 'USDC'), 1)],
  ])('have no %s', async (_, account) => {
    const opening = db.query('INSERT INTO ledger.accounts (id) VALUES ($1)', [account]);
    await expect(opening).rejects.toMatchObject({ code: '23514' });
  });
});
