import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readBooks } from '../../../src/custody/reserves/read-position.ts';
import { reconcile } from '../../../src/custody/reserves/reconcile.ts';
import { reportReserves } from '../../../src/custody/reserves/report.ts';
import { createReserves } from '../../../src/custody/reserves/reserves.ts';
import { takeSnapshot } from '../../../src/custody/reserves/take-snapshot.ts';
import { systemClock } from '../../../src/kernel/clock.ts';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { houseAccount, userAccount } from '../../../src/ledger/account-id.ts';
import { balancesOf, claimsOf, houseBalances, spendableBalances } from '../../../src/ledger/balances.ts';
import { LedgerUnavailable } from '../../../src/ledger/errors.ts';
import { takeEvents } from '../../../src/ledger/events.ts';
import { listHistory } from '../../../src/ledger/history.ts';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { verifyLedger } from '../../../src/ledger/verify.ts';
import { amountOf } from '../../../src/money/amount.ts';
import { listTransfers } from '../../../src/payments/transfers/list-transfers.ts';
import { useDatabase } from '../../support/database.ts';
import { createOwners, fund, transfer } from '../../support/ledger.ts';
import { verifyProof } from '../../support/proofs.ts';
import { statementOf } from '../../support/statement.ts';

/** A newer release has been here: it brought an asset, a chain, kinds of account, and posted in all of them. */
const { db } = useDatabase();
const logger = createLogger('silent');
const ledger = createLedger({ db, logger });
afterAll(() => ledger.stop());

const [newAsset, newChain, newUserKind, newHouseKind, newTransitKind] = [15n, 15n, 9n, 31n, 30n];
const accountOf = (owner: bigint, kind: bigint, chain = 1n, asset = 1n) =>
  (owner << 14n) | (kind << 8n) | (chain << 4n) | asset;
let ada = 0n;
let handle = '';

/** As that release would post: straight through the function, under codes that have no name here. */
async function postAsNewer(entries: readonly (readonly [bigint, bigint])[], asset = 1n, senderEvent?: string) {
  const falling = entries.toSorted(([one], [other]) => (one > other ? -1 : 1));
  const { rows } = await db.query<{ outcomes: string }>(
    `SELECT outcomes FROM ledger.post($1, $1, ARRAY[$2::uuid], '{newer}', NULL, ARRAY[$3::bigint], NULL, ARRAY[$4::bigint],
       '{5}', '{0}', NULL, NULL, NULL, $5, NULL, NULL, NULL, $6, $7, $8)`,
    [
      falling.map(([account]) => account),
      randomUUID(),
      ada,
      asset,
      senderEvent === undefined ? null : [senderEvent],
      falling.map(() => 1),
      falling.map((_, index) => index + 1),
      falling.map(([, atomic]) => atomic),
    ],
  );
  expect(rows).toEqual([{ outcomes: 'P' }]);
}

beforeAll(async () => {
  const owners = await createOwners(db, 2);
  await fund(ledger, owners, 1_000_000n);
  ada = owners[0]?.id ?? 0n;
  const { rows } = await db.query<{ handle: string }>('SELECT handle FROM accounts WHERE id = $1', [ada]);
  handle = rows[0]?.handle ?? '';
  await db.query("INSERT INTO ledger.assets VALUES ($1, 'NEWC', 9)", [newAsset]);
  await db.query("INSERT INTO ledger.chains VALUES ($1, 'NEWCHAIN')", [newChain]);
  await db.query("INSERT INTO ledger.kinds VALUES ($1, 'pledged'), ($2, 'grants'), ($3, 'loans_in_transit')", [
    newUserKind,
    newHouseKind,
    newTransitKind,
  ]);
  const custody = 32n;
  // 5 of what she has is pledged, 3 is in transit and 2 is granted by the house; and she has 5 NEWC, here and there.
  await postAsNewer([
    [accountOf(ada, 0n), -10n],
    [accountOf(ada, newUserKind), 5n],
    [accountOf(0n, newTransitKind), 3n],
    [accountOf(0n, newHouseKind), 2n],
  ]);
  for (const chain of [1n, newChain]) {
    await postAsNewer(
      [
        [accountOf(0n, custody, chain, newAsset), -5n],
        [accountOf(ada, 0n, chain, newAsset), 5n],
      ],
      newAsset,
    );
  }
  // A swap out of USDC that is shown in NEWC.
  await db.query("INSERT INTO ledger.event_subscriptions VALUES ($1, 'newer.event')", [ada]);
  await postAsNewer(
    [
      [accountOf(ada, 0n), -7n],
      [accountOf(0n, custody), 7n],
      [accountOf(0n, custody, 1n, newAsset), -5n],
      [accountOf(ada, 0n, 1n, newAsset), 5n],
    ],
    newAsset,
    'newer.event',
  );
});

describe('what only a newer release knows', () => {
  test('is left out of lists of balances, and counted in what is owed', async () => {
    expect((await spendableBalances(db, ada)).USDC.atomic).toBe(999_983n);
    expect((await balancesOf(db, ada)).map(({ kind, balance }) => [kind, balance.atomic])).toEqual([
      ['available', 999_983n],
    ]);
    expect(await claimsOf(db, ada)).toEqual([{ chain: 'MATIC', total: amountOf('USDC', 999_988n) }]);
    expect((await houseBalances(db)).map(({ kind }) => kind)).toEqual(['custody']);
    const books = await readBooks(db);
    expect(books.find(({ chain, asset }) => chain === 'MATIC' && asset === 'USDC')).toMatchObject({
      users: 1_999_988n,
      owed: 1_999_990n,
      inTransit: 3n,
    });
    expect(books.find(({ asset, chain }) => (asset as string) === 'NEWC' && chain === 'MATIC')?.owed).toBe(10n);
  });

  test('is part of a snapshot, under its name, and of everybody’s proof', async () => {
    const id = await takeSnapshot(db, { minAgeMs: 0 });
    const { rows } = await db.query(
      'SELECT chain, asset, total, owed FROM reserve_trees WHERE snapshot_id = $1 ORDER BY chain, asset',
      [id],
    );
    expect(rows).toEqual([
      { chain: 'MATIC', asset: 'NEWC', total: 10n, owed: 10n },
      { chain: 'MATIC', asset: 'USDC', total: 1999990n, owed: 1999990n },
      { chain: 'NEWCHAIN', asset: 'NEWC', total: 5n, owed: 5n },
    ]);
    const reserves = createReserves({ db, networks: new Map(), logger, clock: systemClock, snapshotMinAgeMs: 0 });
    const proof = await reserves.prove({ accountId: ada, handle });
    // It is up to date as it is: what is pledged is in it.
    expect(proof?.snapshotId).toBe(id);
    const published = await reserves.published();
    expect(published?.roots.map(({ chain, asset }) => [chain, asset])).toEqual([['MATIC', 'USDC']]);
    expect(verifyProof(proof, { proof: published })).toEqual(['0.999988 USDC on MATIC']);
  });

  test('does not keep the reserves from being reported or reconciled', async () => {
    const report = await reportReserves({ db, networks: new Map(), logger, chainTimeoutMs: 1_000 });
    expect(report.reserves).toEqual([]);
    expect(await reconcile({ db, networks: new Map(), sagas: [] })).toContain(
      'NEWCHAIN: 5 units of NEWC is owed, but that token cannot be asked for there.',
    );
    expect((await verifyLedger(db)).problems).toEqual([]);
  });

  test('shows in history as what it did to the accounts that are known', async () => {
    const { entries, nextCursor } = await listHistory(db, { ownerId: ada, limit: 10 });
    expect(entries.map(({ change, posting }) => [change, posting.amount])).toEqual([
      [amountOf('USDC', -7n), amountOf('USDC', 7n)],
      [amountOf('USDC', -10n), amountOf('USDC', 5n)],
      [amountOf('USDC', 1_000_000n), amountOf('USDC', 1_000_000n)],
    ]);
    expect(nextCursor).toBeNull();
    const { transfers } = await listTransfers(db, { accountId: ada, limit: 1, cursor: undefined });
    expect(transfers).toMatchObject([{ type: 'newer', direction: 'sent', amount: 0.000_007, currency: 'USDC' }]);
    const account = userAccount(ada, 'USDC');
    const statement = await statementOf(db, { account, from: new Date(0), to: new Date(Date.now() + 60_000) });
    expect(statement.closing).toEqual(amountOf('USDC', 999_983n));
  });

  test('waits, as an event, for a release that can tell it, and holds up no other', async () => {
    expect(await db.transaction((tx) => takeEvents(tx, { most: 10, feeds: true }))).toEqual([]);
    await db.query("INSERT INTO ledger.event_subscriptions VALUES ($1, 'payment.sent')", [ada]);
    const [, other] = (await db.query<{ id: bigint }>('SELECT id FROM accounts ORDER BY id')).rows;
    await ledger.post(transfer(ada, other?.id ?? 0n, 100n, { senderEvent: 'payment.sent' }));
    const taken = await db.transaction((tx) => takeEvents(tx, { most: 10, feeds: true }));
    expect(taken.map(({ type }) => type)).toEqual(['payment.sent']);
    const { rows } = await db.query('SELECT type FROM ledger.events');
    expect(rows).toEqual([{ type: 'newer.event' }]);
  });
});

describe('an outcome that only a newer release knows', () => {
  test('is an error that says so, for that posting alone, and nothing was moved', async () => {
    // That release has put its own function in place: it refuses what is described as suspicious, with a letter of its own.
    await db.query(
      `DO $$ BEGIN EXECUTE (SELECT 'ALTER FUNCTION ' || oid::regprocedure || ' RENAME TO post_as_it_was' FROM pg_proc
         WHERE oid::regprocedure::text LIKE 'ledger.post(%' AND pronargs = 33); END $$`,
    );
    await db.query(
      `CREATE FUNCTION ledger.post(touched bigint[], unseen bigint[], ids uuid[], types text[], key_ids text[],
         senders bigint[], recipients bigint[], assets bigint[], amounts numeric[], fees numeric[], descriptions text[],
         refs text[], details jsonb[], sender_events text[], recipient_events text[], keys uuid[], request_digests uuid[],
         payers integer[], payees integer[], fees_to integer[], entry_postings integer[], entry_places integer[],
         entry_amounts numeric[], stamps bigint[], budgets bigint[], spend_postings integer[], spend_places integer[],
         spend_amounts numeric[], spent_on text[], returns_of text[], return_parts numeric[], return_wholes numeric[],
         guards uuid[], OUT outcomes text, OUT first_at timestamptz, OUT earlier jsonb) LANGUAGE plpgsql AS $$
       DECLARE suspicious CONSTANT integer := array_position(descriptions, 'suspicious');
       BEGIN
         IF cardinality(ids) = 1 AND suspicious = 1 THEN
           outcomes := 'X';
           first_at := now();
           RETURN;
         END IF;
         SELECT p.outcomes, p.first_at, p.earlier INTO outcomes, first_at, earlier FROM ledger.post_as_it_was(touched,
           unseen, ids, types, key_ids, senders, recipients, assets, amounts, fees, descriptions, refs, details,
           sender_events, recipient_events, keys, request_digests, payers, payees, fees_to, entry_postings, entry_places,
           entry_amounts, stamps, budgets, spend_postings, spend_places, spend_amounts, spent_on, returns_of, return_parts,
           return_wholes, guards) p;
         IF suspicious IS NOT NULL THEN outcomes := overlay(outcomes PLACING 'X' FROM suspicious FOR 1); END IF;
       END $$`,
    );
    await db.query('ALTER FUNCTION ledger.post_one RENAME TO post_one_as_it_was');
    await db.query(
      `CREATE FUNCTION ledger.post_one(payer bigint, payee bigint, fee_to bigint, posting_id uuid, type text, key_id text,
         sender bigint, recipient bigint, asset bigint, amount numeric, fee numeric, description text, sender_event text, recipient_event text, key uuid, request_digest uuid, judged_by bigint, guard uuid,
         OUT outcomes text, OUT first_at timestamptz, OUT earlier jsonb) LANGUAGE plpgsql AS $$
       BEGIN
         IF description = 'suspicious' THEN
           outcomes := 'X';
           first_at := now();
           RETURN;
         END IF;
         SELECT p.outcomes, p.first_at, p.earlier INTO outcomes, first_at, earlier FROM ledger.post_one_as_it_was(payer,
           payee, fee_to, posting_id, type, key_id, sender, recipient, asset, amount, fee, description,
           sender_event, recipient_event, key, request_digest, judged_by, guard) p;
       END $$`,
    );
    const [, bob] = (await db.query<{ id: bigint }>('SELECT id FROM accounts ORDER BY id')).rows;
    const suspicious = transfer(ada, bob?.id ?? 0n, 100n, { description: 'suspicious' });
    const before = (await spendableBalances(db, ada)).USDC.atomic;
    await expect(ledger.post(suspicious)).rejects.toBeInstanceOf(LedgerUnavailable);
    await expect(ledger.post(suspicious)).rejects.toMatchObject({
      cause: { message: expect.stringContaining('with X') },
    });
    const within = db.transaction((tx) => ledger.postWithin(tx, [suspicious]));
    await expect(within).rejects.toBeInstanceOf(LedgerUnavailable);
    expect((await spendableBalances(db, ada)).USDC.atomic).toBe(before);
    // In one batch with others only that one is told so: here its neighbours have their own outcomes.
    const poor = {
      ...suspicious,
      entries: [
        { account: userAccount(ada, 'EURC'), atomic: -1n },
        { account: houseAccount('custody', 'EURC'), atomic: 1n },
      ],
    };
    const answers = await Promise.allSettled([ledger.post(transfer(ada, bob?.id ?? 0n, 100n)), ledger.post(poor)]);
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    expect(answers[0]).toMatchObject({ value: { outcome: 'posted' } });
  });
});
