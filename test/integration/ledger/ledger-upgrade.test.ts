import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { catalogueRows } from '../../../src/app/database.ts';
import type { Queryable } from '../../../src/kernel/db/database.ts';
import { migrate } from '../../../src/kernel/db/migrate.ts';
import { readMigrations } from '../../../src/kernel/db/schema-version.ts';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { houseAccount, userAccount } from '../../../src/ledger/account-id.ts';
import { balancesOf, houseBalance } from '../../../src/ledger/balances.ts';
import { listHistory } from '../../../src/ledger/history.ts';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { verifyLedger } from '../../../src/ledger/verify.ts';
import { homeChain } from '../../../src/money/catalogue.ts';
import { administer, useDatabase } from '../../support/database.ts';
import { createOwners, deposit, transfer } from '../../support/ledger.ts';

/** A database that release 0.1.0 has filled, and its instances that still post while this release runs beside them. */
const { url, db } = useDatabase(async () => 'template0');
const logger = createLogger('silent');
const ledger = createLedger({ db, logger });
const usdc = 1;
const role = `service_of_${new URL(url).pathname.slice(1)}`;
let ada = 0n;
let bob = 0n;

/** As release 0.1.0 calls the ledger: entries only, and the accounts may be new. */
async function postAsBefore(
  entries: readonly [account: number, atomic: bigint][],
  reference?: string,
  as: Queryable = db,
): Promise<string> {
  const falling = [...entries].sort(([one], [other]) => other - one);
  const touched = falling.map(([account]) => account);
  const { rows } = await as.query<{ outcomes: string }>(
    `SELECT outcomes FROM ledger.post($1::bigint[], $1::bigint[], $2, '{transfer}', NULL, $3, $4, $5, '{100}', '{1}', NULL, $6,
       NULL, NULL, NULL, NULL, NULL, $7, $8, $9)`,
    [
      touched,
      [randomUUID()],
      [ada],
      [bob],
      [usdc],
      reference === undefined ? null : [reference],
      falling.map(() => 1),
      falling.map((_, index) => index + 1),
      falling.map(([, atomic]) => atomic),
    ],
  );
  return rows[0]?.outcomes ?? '';
}

const payAsBefore = (as: Queryable = db) =>
  postAsBefore(
    [
      [userAccount(ada, 'USDC'), -100n],
      [userAccount(bob, 'USDC'), 99n],
      [houseAccount('fees', 'USDC'), 1n],
    ],
    undefined,
    as,
  );
const payAsRole = () =>
  db.transaction(async (tx) => {
    await tx.query(`SET LOCAL ROLE "${role}"`);
    return payAsBefore(tx);
  });
const fundAsBefore = (reference: string) =>
  postAsBefore(
    [
      [userAccount(ada, 'USDC'), 1_000n],
      [houseAccount('custody', 'USDC'), -1_000n],
    ],
    reference,
  );

async function rotateAsBefore(old: string, to: string): Promise<void> {
  await db.query(
    `INSERT INTO api_keys (id, account_id, key_hash, name, last4)
     SELECT $2, account_id, sha256(convert_to($2, 'UTF8')), name, last4 FROM api_keys WHERE id = $1`,
    [old, to],
  );
  await db.query('UPDATE api_keys SET rotated_to = $2 WHERE id = $1', [old, to]);
}

beforeAll(async () => {
  const all = await readMigrations();
  await migrate(url, { migrations: all.filter(({ version }) => version <= 16), fixedRows: catalogueRows });
  const owners = await createOwners(db, 2);
  [ada = 0n, bob = 0n] = owners.map(({ id }) => id);
  expect(await fundAsBefore('deposit:MATIC:0x1:0')).toBe('P');
  expect(await payAsBefore()).toBe('P');
  await rotateAsBefore(owners[0]?.keyId ?? '', 'key_second');
  await rotateAsBefore('key_second', 'key_third');
  await administer(inject('postgresUrl'), `CREATE ROLE "${role}" LOGIN`);
  await db.query(`GRANT USAGE ON SCHEMA ledger TO "${role}"`);
  await db.query(`GRANT SELECT ON ALL TABLES IN SCHEMA public, ledger TO "${role}"`);
  await db.query(`GRANT INSERT ON ledger.postings, ledger.entries, ledger.accounts TO "${role}"`);
  await db.query(`GRANT UPDATE (balance, posted_at) ON ledger.accounts TO "${role}"`);
  expect(await payAsRole()).toBe('P');
  await migrate(url, { fixedRows: catalogueRows });
});
afterAll(async () => {
  await ledger.stop();
  await db.query(`DROP OWNED BY "${role}"`);
  await administer(inject('postgresUrl'), `DROP ROLE "${role}"`);
});

it('is whole after the migration', async () => {
  expect(await verifyLedger(db)).toMatchObject({ postings: 3n, entries: 8n, problems: [] });
  const { entries } = await listHistory(db, { ownerId: ada, limit: 10 });
  expect(entries.map(({ change, balanceAfter }) => [change.atomic, balanceAfter.atomic])).toEqual([
    [-100n, 800n],
    [-100n, 900n],
    [1_000n, 1_000n],
  ]);
});

it('lets a role that could post before post on, and reach no partition by itself', async () => {
  expect(await payAsRole()).toBe('P');
  const { rows } = await db.query<{ name: string; reads: boolean; adds: boolean }>(
    `SELECT name, has_table_privilege($1, 'ledger.' || name, 'SELECT') AS reads,
            has_table_privilege($1, 'ledger.' || name, 'INSERT') AS adds
       FROM unnest('{postings,entry_rows,entries,postings_first,entry_rows_first}'::text[]) name`,
    [role],
  );
  expect(rows.map(({ name, reads, adds }) => [name, reads, adds])).toEqual([
    ['postings', true, true],
    ['entry_rows', true, true],
    ['entries', true, false],
    ['postings_first', false, false],
    ['entry_rows_first', false, false],
  ]);
});

it('takes postings of both releases, one after the other', async () => {
  expect((await ledger.post(transfer(ada, bob, 200n))).outcome).toBe('posted');
  expect(await payAsBefore()).toBe('P');
  expect((await ledger.post(transfer(bob, ada, 50n))).outcome).toBe('posted');
  const [first] = (await balancesOf(db, ada)).map(({ balance }) => balance.atomic);
  expect(first).toBe(1_000n - 3n * 100n - 200n - 100n + 50n);
  expect((await houseBalance(db, 'fees', 'USDC', homeChain)).atomic).toBe(3n * 1n + 2n + 1n);
  expect((await verifyLedger(db)).problems).toEqual([]);
});

it('takes a lone posting of a build that knows no guards', async () => {
  const { rows } = await db.query(
    `SELECT outcomes FROM ledger.post_one($1, $2, NULL, $3, 'transfer', NULL, $4, $5, $6, 10, 0, NULL, NULL, NULL, NULL, NULL, NULL)`,
    [userAccount(ada, 'USDC'), userAccount(bob, 'USDC'), randomUUID(), ada, bob, usdc],
  );
  expect(rows).toEqual([{ outcomes: 'P' }]);
});

it('takes a reference once, whichever release asks, before the migration or after it', async () => {
  expect(await fundAsBefore('deposit:MATIC:0x1:0')).toBe('D');
  const again = await ledger.post(deposit(ada, 1_000n, 'deposit:MATIC:0x1:0'));
  expect(again).toMatchObject({ outcome: 'duplicate', posting: { reference: 'deposit:MATIC:0x1:0' } });
  expect((await ledger.post(deposit(ada, 7n, 'deposit:MATIC:0x2:0'))).outcome).toBe('posted');
  expect(await fundAsBefore('deposit:MATIC:0x2:0')).toBe('D');
});

it('gives a key and those that it was rotated to one place', async () => {
  const { rows } = await db.query<{ id: string; place: string; path: string[] }>(
    'SELECT id, place, path FROM api_keys WHERE account_id = $1 ORDER BY created_at, id',
    [ada],
  );
  const [first] = rows;
  expect(rows).toEqual(
    [first?.id, 'key_second', 'key_third'].map((id) => ({ id, place: first?.id, path: [first?.id] })),
  );
});
