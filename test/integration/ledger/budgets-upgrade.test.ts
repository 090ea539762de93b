import { afterAll, beforeAll, expect, it } from 'vitest';
import { catalogueRows } from '../../../src/app/database.ts';
import { migrate } from '../../../src/kernel/db/migrate.ts';
import { readMigrations } from '../../../src/kernel/db/schema-version.ts';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { houseAccount, userAccount } from '../../../src/ledger/account-id.ts';
import { createLedger } from '../../../src/ledger/ledger.ts';
import type { Posting } from '../../../src/ledger/posting.ts';
import { verifyLedger } from '../../../src/ledger/verify.ts';
import { amountOf } from '../../../src/money/amount.ts';
import { changeStamp, createBudget, readBudget } from '../../support/budgets.ts';
import { useDatabase } from '../../support/database.ts';
import { createOwners, fund, transfer } from '../../support/ledger.ts';
import { until } from '../../support/until.ts';

/** A database whose budgets were filled before migration 031. */
const { url, db } = useDatabase(async () => 'template0');
const ledger = createLedger({ db, logger: createLogger('silent') });
type Owner = { readonly id: bigint; readonly keyId: string };
let ada: Owner;
let bob: Owner;
let stamp: bigint;

const pay = (amount: bigint, budgets: readonly bigint[]): Posting =>
  transfer(ada.id, bob.id, amount, {
    keyId: ada.keyId,
    authority: { stamp, spends: budgets.map((budget) => ({ budget, amount })) },
  });

const open = (amount: bigint, budgets: readonly bigint[], id: string): Posting => ({
  ...pay(amount, budgets),
  type: 'withdrawal',
  reference: `withdrawal:${id}`,
  fee: amountOf('USDC', 0n),
  entries: [
    { account: userAccount(ada.id, 'USDC'), atomic: -amount },
    { account: houseAccount('withdrawals_in_transit', 'USDC'), atomic: amount },
  ],
  spentOn: id,
});

const giveBack = (part: bigint, whole: bigint, id: string, n: number): Posting => ({
  type: 'withdrawal_refund',
  amount: amountOf('USDC', part),
  recipientId: ada.id,
  reference: `refund:${id}:${n}`,
  entries: [
    { account: houseAccount('withdrawals_in_transit', 'USDC'), atomic: -part },
    { account: userAccount(ada.id, 'USDC'), atomic: part },
  ],
  returns: { of: id, part, whole },
});

const spans = [
  { span: 'once' },
  { span: 'day' },
  { span: 'week', timeZone: 'Pacific/Auckland' },
  { span: 'month' },
  { span: 'rolling', seconds: 60 },
  { span: 'rolling', seconds: 86_400 },
] as const;
let budgets: bigint[];
let lowered: bigint;
let unused: bigint;
let late: bigint;

const states = async (at: string) =>
  (
    await db.query(
      `SELECT s.* FROM (SELECT DISTINCT place FROM ledger.budgets) b, ledger.budget_states(ARRAY[b.place], $1) s ORDER BY s.id`,
      [at],
    )
  ).rows;

let before: Record<string, unknown[]>;
let moments: string[];

/** Takes what a posting of today is called with, which has one part more. It is null here. */
const postOfToday = {
  async create() {
    const { rows } = await db.query<{ types: string; given: string }>(
      `SELECT string_agg(p.proargnames[n] || ' ' || format_type(p.proargtypes[n - 1], NULL), ', ' ORDER BY n) AS types,
              string_agg('$' || n, ', ' ORDER BY n) AS given
         FROM pg_proc p CROSS JOIN generate_series(1, 32) n
        WHERE p.oid::regprocedure::text LIKE 'ledger.post(%' AND p.pronargs = 32`,
    );
    const { types, given } = rows[0] ?? {};
    await db.query(
      `CREATE FUNCTION ledger.post(${types}, guards uuid[], OUT outcomes text, OUT first_at timestamptz, OUT earlier jsonb)
         LANGUAGE sql AS $$ SELECT * FROM ledger.post(${given}) $$`,
    );
  },
  remove: () =>
    db.query(
      `DO $$ BEGIN EXECUTE (SELECT 'DROP FUNCTION ' || oid::regprocedure FROM pg_proc
         WHERE oid::regprocedure::text LIKE 'ledger.post(%' AND pronargs = 33); END $$`,
    ),
};

beforeAll(async () => {
  const all = await readMigrations();
  await migrate(url, { migrations: all.filter(({ version }) => version <= 30), fixedRows: catalogueRows });
  await postOfToday.create();
  [ada, bob] = (await createOwners(db, 2)) as [Owner, Owner];
  await fund(ledger, [ada], 1_000_000n);
  stamp = await changeStamp(db, ada.id);
  let name = 0;
  const add = (most: bigint, more = {}) => createBudget(db, ada, { most, name: `b${name++}`, ...more });
  budgets = [];
  for (const span of spans) budgets.push(await add(1_000n, span));
  lowered = await add(1_000n, { span: 'month' });
  unused = await add(1_000n, { span: 'day' });
  late = await add(100n);
  const begin = Date.now();
  for (let n = 0; n < 4; n++) {
    expect((await ledger.post(open(50n, [...budgets, lowered], `wdr_${n}`))).outcome).toBe('posted');
    // Into the next bucket of the shorter rolling window.
    await until('the next bucket', async () => Date.now() > begin + (n + 1) * 1_050);
  }
  expect((await ledger.post(giveBack(20n, 50n, 'wdr_1', 0))).outcome).toBe('posted');
  await db.query('UPDATE ledger.budgets SET most = 100 WHERE id = $1', [lowered]);
  const now = Date.now();
  moments = [0, 1, 30, 58, 61, 90, 3_600, 86_400, 90_000, 40 * 86_400].map((s) =>
    new Date(now + s * 1_000).toISOString(),
  );
  before = {};
  for (const at of moments) before[at] = await states(at);

  // A payment that began before the migration commits while it runs.
  let commit!: () => void;
  const released = new Promise<void>((resolve) => {
    commit = resolve;
  });
  let held!: () => void;
  const isHeld = new Promise<void>((resolve) => {
    held = resolve;
  });
  const paying = db.transaction(async (tx) => {
    const [outcome] = await ledger.postWithin(tx, [pay(60n, [late])]);
    held();
    await released;
    return outcome?.outcome;
  });
  await isHeld;
  await postOfToday.remove();
  const migrating = migrate(url, { fixedRows: catalogueRows });
  await until('the migration to wait', async () => {
    const { rows } = await db.query("SELECT FROM pg_locks WHERE NOT granted AND relation = 'ledger.budgets'::regclass");
    return rows.length > 0;
  });
  commit();
  expect(await paying).toBe('posted');
  await migrating;
}, 60_000);
afterAll(() => ledger.stop());

it('shows every budget as before, now and later', async () => {
  for (const at of moments) {
    const without = (rows: unknown[]) => rows.filter((row) => String((row as { id: bigint }).id) !== String(late));
    expect(without(await states(at)), at).toEqual(without(before[at] as unknown[]));
  }
  expect(await readBudget(db, unused)).toMatchObject({ spent: 0n });
});

it('takes and gives back in buckets of before', async () => {
  expect((await ledger.post(giveBack(10n, 50n, 'wdr_2', 0))).outcome).toBe('posted');
  expect((await ledger.post(pay(1n, budgets))).outcome).toBe('posted');
  expect((await ledger.post(giveBack(30n, 50n, 'wdr_1', 1))).outcome).toBe('posted');
  expect((await ledger.post(giveBack(50n, 50n, 'wdr_3', 0))).outcome).toBe('posted');
  for (const id of budgets) expect(await readBudget(db, id), String(id)).toMatchObject({ spent: 91n });
  const { problems } = await verifyLedger(db);
  expect(problems.filter((text) => !text.startsWith(`Budget ${late} `))).toEqual([]);
});

it('keeps what a payment took while the migration began', async () => {
  expect(await readBudget(db, late)).toMatchObject({ spent: 60n, remaining: 40n });
  expect((await ledger.post(pay(41n, [late]))).outcome).toBe('budget_exceeded');
  expect((await verifyLedger(db)).problems).toEqual([]);
});
