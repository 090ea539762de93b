import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readBooks } from '../../../src/custody/reserves/read-position.ts';
import { reconcile } from '../../../src/custody/reserves/reconcile.ts';
import { createReserves } from '../../../src/custody/reserves/reserves.ts';
import { systemClock } from '../../../src/kernel/clock.ts';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { type AccountId, heldAccount, houseAccount, userAccount } from '../../../src/ledger/account-id.ts';
import { claimsOf, houseBalances, spendableBalances } from '../../../src/ledger/balances.ts';
import { openClaimant } from '../../../src/ledger/claimants.ts';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { verifyLedger } from '../../../src/ledger/verify.ts';
import { amountOf } from '../../../src/money/amount.ts';
import { listTransfers } from '../../../src/payments/transfers/list-transfers.ts';
import { useDatabase } from '../../support/database.ts';
import { createOwners, fund } from '../../support/ledger.ts';
import { verifyProof } from '../../support/proofs.ts';
import { readStatement } from '../../support/statement.ts';

/** An order as it will be: 40 of 100 held, 30 of them taken by the shop with a fee of 1, and the rest given back. */
const { db } = useDatabase();
const logger = createLogger('silent');
const ledger = createLedger({ db, logger });
afterAll(() => ledger.stop());
const reserves = createReserves({ db, networks: new Map(), logger, clock: systemClock, snapshotMinAgeMs: 0 });

const usdc = (whole: number) => BigInt(whole) * 1_000_000n;
let ada: { readonly accountId: bigint; readonly handle: string };
let shop: { readonly id: bigint; readonly account: AccountId };

beforeAll(async () => {
  const owners = await createOwners(db, 2);
  await fund(ledger, owners, usdc(100));
  const { rows } = await db.query<{ id: bigint; handle: string }>(
    'SELECT id, handle FROM accounts ORDER BY id LIMIT 1',
  );
  ada = { accountId: rows[0]?.id ?? 0n, handle: rows[0]?.handle ?? '' };
  const opened = await openClaimant(db, { kind: 'domain', name: 'shop.example', asset: 'USDC', chain: 'MATIC' });
  shop = { id: opened.claimant.id, account: opened.account };
});

async function post(type: string, shown: number, fee: number, moves: readonly (readonly [AccountId, number])[]) {
  const outcome = await ledger.post({
    type,
    amount: amountOf('USDC', usdc(shown)),
    fee: amountOf('USDC', usdc(fee)),
    senderId: ada.accountId,
    entries: moves.map(([account, by]) => ({ account, atomic: usdc(by) })),
  });
  return outcome.outcome;
}

const spendable = async () => (await spendableBalances(db, ada.accountId)).USDC.atomic;
const owed = async () => (await readBooks(db)).find(({ asset }) => asset === 'USDC');
const history = async () => {
  const { transfers } = await listTransfers(db, { accountId: ada.accountId, limit: 10, cursor: undefined });
  return transfers.map(({ type, direction, amount, fee }) => [type, direction, amount, fee]);
};

async function expectProven(balance: string): Promise<void> {
  const proof = await reserves.prove(ada);
  const published = { proof: await reserves.published() };
  expect(verifyProof(proof, published)).toEqual([`${balance} USDC on MATIC`]);
  // Nothing has changed since, so the same snapshot answers: a hold is no reason for another one.
  expect((await reserves.prove(ada))?.snapshotId).toBe(proof?.snapshotId);
  const total = published.proof?.roots.find(({ asset }) => asset === 'USDC')?.total;
  expect(total).toBe('200');
  expect((await db.query('SELECT FROM reserve_trees WHERE total <> owed')).rowCount).toBe(0);
}

describe('an order', () => {
  test('is held: not to be spent, and the user’s all the same', async () => {
    const [available, held] = [userAccount(ada.accountId, 'USDC'), heldAccount(ada.accountId, 'USDC')];
    expect(
      await post('order_held', 40, 0, [
        [available, -40],
        [held, 40],
      ]),
    ).toBe('posted');
    expect(await spendable()).toBe(usdc(60));
    expect(await claimsOf(db, ada.accountId)).toEqual([{ chain: 'MATIC', total: amountOf('USDC', usdc(100)) }]);
    expect(await owed()).toMatchObject({ users: usdc(200), owed: usdc(200), inTransit: 0n });
    await expectProven('100');
    expect(await history()).toEqual([
      ['order_held', 'sent', 40, 0],
      ['deposit', 'received', 100, 0],
    ]);
    expect(
      await post('transfer', 70, 0, [
        [available, -70],
        [shop.account, 70],
      ]),
    ).toBe('insufficient_balance');
    expect(
      await post('order_held', 41, 0, [
        [held, -41],
        [available, 41],
      ]),
    ).toBe('insufficient_balance');
  });

  test('is taken by a shop that has no account yet, and what is left over comes back', async () => {
    const moves = [
      [heldAccount(ada.accountId, 'USDC'), -40],
      [shop.account, 29],
      [houseAccount('fees', 'USDC'), 1],
      [userAccount(ada.accountId, 'USDC'), 10],
    ] as const;
    expect(await post('order_captured', 30, 1, moves)).toBe('posted');
    expect(await spendable()).toBe(usdc(70));
    // The shop is owed it like a user, the fee is the house's, and nothing is in flight.
    expect(await owed()).toMatchObject({ users: usdc(199), owed: usdc(200), inTransit: 0n });
    await expectProven('70');
    const { rows } = await db.query<{ balance: bigint }>(
      `SELECT o.balance FROM reserve_owners o JOIN reserve_trees t ON t.id = o.tree_id
        WHERE o.account_id = $1 ORDER BY t.id DESC LIMIT 1`,
      [shop.id],
    );
    expect(rows).toEqual([{ balance: usdc(29) }]);
  });

  test('stands in history and statement with what it did to the balance, once', async () => {
    expect(await history()).toEqual([
      ['order_captured', 'received', 10, 0],
      ['order_held', 'sent', 40, 0],
      ['deposit', 'received', 100, 0],
    ]);
    const month = new Date().toISOString().slice(0, 7);
    const statement = await readStatement(db, { accountId: ada.accountId, month, currency: 'USDC' });
    expect(statement.lines.map(({ type, change, balance }) => [type, change, balance])).toEqual([
      ['deposit', '100', '100'],
      ['order_held', '-40', '60'],
      ['order_captured', '10', '70'],
    ]);
    expect(statement.closingBalance).toBe('70');
  });

  test('leaves nothing with the house but its fee, and nothing for a reconciliation to find', async () => {
    const house = (await houseBalances(db)).filter(({ balance }) => balance.atomic !== 0n);
    expect(house.map(({ kind, balance }) => [kind, balance.atomic])).toEqual([
      ['fees', usdc(1)],
      ['custody', -usdc(200)],
    ]);
    expect((await verifyLedger(db)).problems).toEqual([]);
    // There is no chain in this test, and that is all it has to say.
    for (const finding of await reconcile({ db, networks: new Map(), sagas: [] })) {
      expect(finding).toMatch(/is owed, but that token cannot be asked for there|is no deposit/);
    }
  });
});
