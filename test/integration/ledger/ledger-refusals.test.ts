import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { houseAccount, slotsOf, userAccount } from '../../../src/ledger/account-id.ts';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { verifyLedger } from '../../../src/ledger/verify.ts';
import { useDatabase } from '../../support/database.ts';
import { createOwners, deposit, fund, transfer } from '../../support/ledger.ts';

/** What the database itself refuses, from anyone, however the statement came about. */
const { db } = useDatabase();
const ledger = createLedger({ db, logger: createLogger('silent') });
let ada = 0n;
let bob = 0n;

beforeAll(async () => {
  const owners = await createOwners(db, 2);
  await fund(ledger, owners, 1_000n);
  [ada = 0n, bob = 0n] = owners.map(({ id }) => id);
  await ledger.post(transfer(ada, bob, 100n));
});
afterAll(() => ledger.stop());

const addEntries = 'INSERT INTO ledger.entry_rows (account_id, posted_at, posting_id, amount, balance_after) ';

describe('entries that do not balance', () => {
  it('are refused when one stands alone', async () => {
    const alone = db.query(`${addEntries} VALUES ($1, now(), $2, 5, 905)`, [userAccount(ada, 'USDC'), randomUUID()]);
    await expect(alone).rejects.toMatchObject({ code: '23514', message: expect.stringContaining('sum to 5') });
  });

  it('are refused when they balance only across assets', async () => {
    const mixed = db.query(`${addEntries} VALUES ($1, now(), $3, 5, 905), ($2, now(), $3, -5, -5)`, [
      userAccount(ada, 'USDC'),
      houseAccount('custody', 'EURC'),
      randomUUID(),
    ]);
    await expect(mixed).rejects.toMatchObject({ code: '23514' });
  });

  it('are refused when they balance only across chains', async () => {
    const mixed = db.query(`${addEntries} VALUES ($1, now(), $3, 5, 905), ($2, now(), $3, -5, -5)`, [
      userAccount(ada, 'USDC'),
      houseAccount('custody', 'USDC', 'BASE'),
      randomUUID(),
    ]);
    await expect(mixed).rejects.toMatchObject({ code: '23514', message: expect.stringMatching(/on chain \d sum to/) });
  });

  it('are refused when they balance only across postings', async () => {
    const mixed = db.query(`${addEntries} VALUES ($1, now(), $3, 5, 905), ($2, now(), $4, -5, -5)`, [
      userAccount(ada, 'USDC'),
      houseAccount('custody', 'USDC'),
      randomUUID(),
      randomUUID(),
    ]);
    await expect(mixed).rejects.toMatchObject({ code: '23514' });
  });

  it('are refused also by a session that has switched triggers off', async () => {
    const hidden = db.transaction(async (tx) => {
      await tx.query('SET LOCAL session_replication_role = replica');
      await tx.query(`${addEntries} VALUES ($1, now(), $2, 5, 905)`, [userAccount(ada, 'USDC'), randomUUID()]);
    });
    await expect(hidden).rejects.toMatchObject({ code: '23514' });
  });
});

describe('a posting in one row', () => {
  const row = {
    payer: 'ada',
    payee: 'bob',
    fee_to: 'fees',
    amount: '100',
    fee: '1',
    payer_after: '0',
    payee_after: '99',
    fee_after: '1',
    asset: '1',
  };
  const insert = (changes: Partial<Record<keyof typeof row, string | null>>) => {
    const accounts: Record<string, number> = {
      ada: userAccount(ada, 'USDC'),
      bob: userAccount(bob, 'USDC'),
      fees: houseAccount('fees', 'USDC'),
      euros: userAccount(bob, 'EURC'),
      elsewhere: userAccount(bob, 'USDC', 'BASE'),
      euroFees: houseAccount('fees', 'EURC'),
    };
    const values = Object.values({ ...row, ...changes }).map((value) => accounts[value ?? ''] ?? value);
    return db.transaction(async (tx) => {
      await tx.query(
        `INSERT INTO ledger.postings (id, posted_at, type, ${Object.keys(row)})
         VALUES (gen_random_uuid(), now(), 'transfer', ${values.map((_, index) => `$${index + 1}`)})`,
        values,
      );
      throw new Error('accepted');
    });
  };

  it('is taken when it is sound', async () => {
    await expect(insert({})).rejects.toThrow('accepted');
    await expect(insert({ fee_to: null, fee: '0', fee_after: null })).rejects.toThrow('accepted');
    await expect(
      insert({ payer: null, payee: null, fee_to: null, payer_after: null, payee_after: null, fee_after: null }),
    ).rejects.toThrow('accepted');
  });

  it.each([
    ['pays in another asset', { payee: 'euros' }],
    ['pays on another chain', { payee: 'elsewhere' }],
    ['has a fee in another asset', { fee_to: 'euroFees' }],
    ['has a fee that nobody gets', { fee_to: null }],
    ['has nobody who is paid', { payee: null }],
    ['has nobody who pays', { payer: null }],
    ['has a fee alone', { payer: null, payee: null }],
    ['pays itself', { payee: 'ada' }],
    ['has a fee that is all of it', { fee: '100' }],
    ['has a negative fee', { fee: '-1' }],
    ['gives somebody without a fee one', { fee: '0' }],
    ['gives the fee to a person', { fee_to: 'bob', payee: 'ada', payer: 'fees' }],
    ['is of another asset than its accounts', { asset: '2' }],
    ['does not say what it left', { payee_after: null }],
  ])('is refused when it %s', async (_, changes) => {
    await expect(insert(changes)).rejects.toMatchObject({ code: '23514', constraint: 'postings_balanced' });
  });
});

describe('what was posted', () => {
  it.each([
    'UPDATE ledger.entry_rows SET amount = 0',
    'DELETE FROM ledger.entry_rows',
    'TRUNCATE ledger.entry_rows',
    "UPDATE ledger.postings SET description = 'something else'",
    'DELETE FROM ledger.postings WHERE false',
    'TRUNCATE ledger.postings',
    'TRUNCATE ledger.accounts CASCADE',
    'DELETE FROM ledger.accounts WHERE balance = 0',
    'UPDATE ledger.accounts SET id = id + 16384',
    'UPDATE ledger.accounts SET owner_id = NULL',
    'UPDATE ledger.accounts SET claimant_id = NULL',
    `INSERT INTO ledger.entry_rows SELECT * FROM ledger.entry_rows LIMIT 1
       ON CONFLICT (account_id, posted_at) DO UPDATE SET amount = 0`,
  ])('withstands: %s', async (sql) => {
    await expect(db.query(sql)).rejects.toMatchObject({ code: '23001' });
  });

  it('withstands: TRUNCATE accounts CASCADE, which the audit log refuses even before', async () => {
    await expect(db.query('TRUNCATE accounts CASCADE')).rejects.toMatchObject({ code: '23514' });
  });
});

describe('a balance', () => {
  it('of a user cannot go below zero', async () => {
    const overdraw = db.query('UPDATE ledger.accounts SET balance = -1 WHERE owner_id = $1', [ada]);
    await expect(overdraw).rejects.toMatchObject({ constraint: 'accounts_balance_not_negative' });
  });

  it('of the fees cannot go below zero', async () => {
    const overdraw = db.query('UPDATE ledger.accounts SET balance = -1 WHERE id = ANY ($1)', [
      slotsOf(houseAccount('fees', 'USDC')),
    ]);
    await expect(overdraw).rejects.toMatchObject({ constraint: 'accounts_balance_not_negative' });
  });

  it('of custody is below zero: it mirrors what we hold', async () => {
    const { rows } = await db.query<{ balance: bigint }>('SELECT balance FROM ledger.accounts WHERE id = $1', [
      houseAccount('custody', 'USDC'),
    ]);
    expect(rows).toEqual([{ balance: -2_000n }]);
  });
});

describe('an account', () => {
  it.each([
    ['of nobody', '23503', (999_999_999n << 14n) | 17n],
    ['of an unknown asset', '23514', (1n << 14n) | 16n | 15n],
    ['of an unknown chain', '23514', (1n << 14n) | 1n],
    ['of a user, of a kind for the house', '23514', (1n << 14n) | (32n << 8n) | 17n],
    ['of the house, of a kind for users', '23514', 17n],
    ['of a user, of the kind for claimants', '23514', (1n << 14n) | (2n << 8n) | 17n],
    ['of a claimant, of a kind for users', '23514', (1n << 52n) | 17n],
    ['of a claimant who is nobody', '23503', (1n << 52n) | (1n << 14n) | (2n << 8n) | 17n],
  ])('%s cannot be opened', async (_, code, id) => {
    await expect(db.query('INSERT INTO ledger.accounts (id) VALUES ($1)', [id])).rejects.toMatchObject({ code });
  });

  it('cannot be opened with money in it', async () => {
    const gift = db.query('INSERT INTO ledger.accounts (id, balance) VALUES ($1, 5)', [userAccount(ada, 'DAI')]);
    await expect(gift).rejects.toMatchObject({ code: '23514' });
  });
});

it('does not take a second credit for the same log of a chain', async () => {
  await ledger.post(deposit(ada, 5n, 'deposit:MATIC:0x1:0'));
  const again = db.query(
    "INSERT INTO ledger.posting_references (reference, posting_id) VALUES ('deposit:MATIC:0x1:0', $1)",
    [randomUUID()],
  );
  await expect(again).rejects.toMatchObject({ constraint: 'posting_references_pkey' });
});

it('finds what somebody has tampered with', async () => {
  expect((await verifyLedger(db)).problems).toEqual([]);
  await db.query('UPDATE ledger.accounts SET balance = balance + 1 WHERE id = $1', [userAccount(ada, 'USDC')]);
  const { problems } = await verifyLedger(db);
  expect(problems).toHaveLength(3);
  expect(problems[0]).toMatch(/^Account \d+ has 906, but its entries sum to 905\.$/);
});
