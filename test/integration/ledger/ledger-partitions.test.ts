import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createClaimTable } from '../../../src/kernel/db/claim-database.ts';
import { openDatabase } from '../../../src/kernel/db/database.ts';
import { grantService } from '../../../src/kernel/db/grant-service.ts';
import { usualPatience } from '../../../src/kernel/db/migration-lock.ts';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { userAccount } from '../../../src/ledger/account-id.ts';
import { balancesOf } from '../../../src/ledger/balances.ts';
import { LedgerUnavailable } from '../../../src/ledger/errors.ts';
import { openMonthsDaily } from '../../../src/ledger/feature.ts';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { toPostingUuid } from '../../../src/ledger/posting.ts';
import { verifyLedger } from '../../../src/ledger/verify.ts';
import { administer, useDatabase } from '../../support/database.ts';
import { createOwners, deposit, fund, scope, transfer } from '../../support/ledger.ts';
import { endMonth } from '../../support/months.ts';

/** The ledger across two months: the same keys, the same function, the same rules. */
const { db, url } = useDatabase();
const logger = createLogger('silent');
const elsewhere = openDatabase({ url, poolSize: 4, logger, applicationName: 'elsewhere' });
const ledger = createLedger({ db, logger });
const there = createLedger({ db: elsewhere, logger });
/** A role that owns nothing, as the service has where another role migrates. */
const role = `service_of_${new URL(url).pathname.slice(1)}`;
const service = openDatabase({ url: Object.assign(new URL(url), { username: role }).href, poolSize: 2, logger });
let ada = 0n;
let bob = 0n;

beforeAll(async () => {
  const owners = await createOwners(db, 2);
  await fund(ledger, owners, 1_000n);
  [ada = 0n, bob = 0n] = owners.map(({ id }) => id);
  await ledger.post(deposit(ada, 5n, 'deposit:MATIC:0x1:0'));
  await ledger.post(transfer(ada, bob, 100n, { idempotency: scope(ada, 'before') }));
  await endMonth(db, 'late');
  await administer(inject('postgresUrl'), `CREATE ROLE "${role}" LOGIN`);
  await createClaimTable(url);
  // Whatever it could do with a partition before is taken from it.
  await db.query(`GRANT ALL ON ledger.postings_first TO "${role}"`);
  await grantService(url, role, usualPatience);
});
afterAll(async () => {
  await service.close();
  await db.query(`DROP OWNED BY "${role}"`);
  await administer(inject('postgresUrl'), `DROP ROLE "${role}"`);
  await ledger.stop();
  await there.stop();
  await elsewhere.close();
});

async function partsOf(posting: string): Promise<readonly string[]> {
  const { rows } = await db.query<{ part: string }>(
    `SELECT tableoid::regclass::text AS part FROM ledger.postings WHERE id = $1
     UNION SELECT tableoid::regclass::text FROM ledger.entry_rows WHERE posting_id = $1 ORDER BY 1`,
    [toPostingUuid(posting)],
  );
  return rows.map(({ part }) => part);
}

describe('postings and entries partitioned by time', () => {
  it('lie on both sides, and go on from what is on the other', async () => {
    const before = await ledger.post(transfer(ada, bob, 100n, { idempotency: scope(ada, 'before') }));
    const after = await ledger.post(transfer(ada, bob, 100n, { idempotency: scope(ada, 'after') }));
    if (before.outcome !== 'duplicate' || after.outcome !== 'posted') throw new Error('not as expected');
    expect(await partsOf(before.posting.id)).toEqual(['ledger.postings_first']);
    expect(await partsOf(after.posting.id)).toEqual(['ledger.postings_late']);
    const balances = await balancesOf(db, ada);
    expect(balances.find(({ asset }) => asset === 'USDC')?.balance.atomic).toBe(805n);
  });

  it('take a reference once, whichever side its posting is on', async () => {
    const earlier = await ledger.post(deposit(ada, 5n, 'deposit:MATIC:0x1:0'));
    expect(earlier).toMatchObject({ outcome: 'duplicate', posting: { reference: 'deposit:MATIC:0x1:0' } });
    expect((await ledger.post(deposit(ada, 5n, 'deposit:MATIC:0x2:0'))).outcome).toBe('posted');
    expect((await ledger.post(deposit(ada, 5n, 'deposit:MATIC:0x2:0'))).outcome).toBe('duplicate');
  });

  it('still refuse what does not balance, and any change', async () => {
    const alone = db.query(
      'INSERT INTO ledger.entry_rows (account_id, posted_at, posting_id, amount, balance_after) VALUES ($1, now(), gen_random_uuid(), 5, 5)',
      [userAccount(ada, 'USDC')],
    );
    await expect(alone).rejects.toMatchObject({ code: '23514' });
    await expect(db.query('DELETE FROM ledger.postings')).rejects.toMatchObject({ code: '23001' });
  });

  it.each([
    ['entry_rows_first', '2020-01-01'],
    ['entry_rows_late', 'now'],
  ])('refuse the same in %s', async (part, at) => {
    const alone = db.query(
      `INSERT INTO ledger.${part} (account_id, posted_at, posting_id, amount, balance_after) VALUES ($1, $2, gen_random_uuid(), 5, 5)`,
      [userAccount(ada, 'USDC'), at],
    );
    await expect(alone).rejects.toMatchObject({ code: '23514' });
    await expect(db.query(`DELETE FROM ledger.${part}`)).rejects.toMatchObject({ code: '23001' });
    await expect(db.query(`UPDATE ledger.${part} SET amount = 1`)).rejects.toMatchObject({ code: '23001' });
  });

  it('are a sound ledger', async () => {
    expect(await verifyLedger(db)).toMatchObject({ problems: [] });
  });
});

describe('the role of the service', () => {
  it('posts on both, and reads what is in either', async () => {
    const theirs = createLedger({ db: service, logger });
    expect((await theirs.post(transfer(ada, bob, 1n))).outcome).toBe('posted');
    expect((await theirs.post(deposit(ada, 5n, 'deposit:MATIC:0x1:0'))).outcome).toBe('duplicate');
    await theirs.stop();
  });

  it.each([
    "UPDATE ledger.postings SET description = 'another story'",
    "UPDATE ledger.postings_first SET description = 'another story'",
    'DELETE FROM ledger.entry_rows_late',
    'INSERT INTO ledger.entry_rows_late SELECT * FROM ledger.entry_rows LIMIT 1',
    'TRUNCATE ledger.postings_late',
  ])('may not: %s', async (sql) => {
    await expect(service.query(sql)).rejects.toMatchObject({ code: '42501' });
  });
});

describe('the next months', () => {
  /** The last month of the ledger, as if nobody had opened it. */
  async function closeLast(): Promise<string> {
    const { rows } = await db.query<{ name: string }>('SELECT name FROM ledger.months ORDER BY from_at DESC LIMIT 1');
    const name = rows[0]?.name ?? '';
    await db.transaction(async (tx) => {
      await tx.query(`DROP TABLE ledger.postings_${name}, ledger.entry_rows_${name}`);
      await tx.query('DELETE FROM ledger.months WHERE name = $1', [name]);
    });
    return name;
  }

  it('are opened by the daily job, which has the role of the service', async () => {
    const name = await closeLast();
    const { handler } = openMonthsDaily(service, logger);
    await handler.run({});
    await handler.run({});
    const { rows } = await db.query<{ name: string }>('SELECT name FROM ledger.months ORDER BY from_at DESC LIMIT 1');
    expect(rows).toEqual([{ name }]);
    await expect(service.query(`SELECT FROM ledger.postings_${name}`)).rejects.toMatchObject({ code: '42501' });
  });

  it('are missed by every posting alike, which say that nothing was posted', async () => {
    const before = await balancesOf(db, ada);
    const lines: string[] = [];
    const batches: number[] = [];
    const theirs = createLedger({
      db,
      logger: { ...logger, error: (_: unknown, text: string) => void lines.push(text) } as typeof logger,
      onBatch: ({ postings }) => void batches.push(postings),
    });
    await db.query('ALTER TABLE ledger.postings DETACH PARTITION ledger.postings_late');
    try {
      const several = await Promise.allSettled([1, 2, 3].map(() => theirs.post(transfer(ada, bob, 1n))));
      for (const one of several)
        expect(one).toMatchObject({ status: 'rejected', reason: expect.any(LedgerUnavailable) });
      expect(batches, 'and the batch is not halved').toEqual([3]);
      await expect(theirs.post(transfer(ada, bob, 1n))).rejects.toBeInstanceOf(LedgerUnavailable);
      const within = db.transaction((tx) => theirs.postWithin(tx, [deposit(ada, 1n, 'deposit:MATIC:none:0')]));
      await expect(within).rejects.toBeInstanceOf(LedgerUnavailable);
      expect(lines).toHaveLength(3);
      expect(lines[0]).toMatch(/^no month of the ledger is open/);
    } finally {
      await db.query(
        `DO $$ DECLARE m ledger.months; BEGIN
           SELECT * INTO m FROM ledger.months WHERE name = 'late';
           EXECUTE format('ALTER TABLE ledger.postings ATTACH PARTITION ledger.postings_late FOR VALUES FROM (%L) TO (%L)',
             m.from_at, m.to_at);
         END $$`,
      );
    }
    expect(await balancesOf(db, ada)).toEqual(before);
    expect((await theirs.post(transfer(ada, bob, 1n))).outcome).toBe('posted');
    await theirs.stop();
  });
});

describe('a reference', () => {
  it('has one winner when two processes post it at once, with nothing else in common', async () => {
    const asked = Array.from({ length: 30 }, (_, index) => [
      ledger.post(deposit(ada, 1n, `deposit:MATIC:race:${index}`, 'USDC')),
      there.post(deposit(bob, 1n, `deposit:MATIC:race:${index}`, 'EURC')),
    ]);
    for (const pair of asked) {
      const outcomes = await Promise.all(pair);
      expect(outcomes.map(({ outcome }) => outcome).sort()).toEqual(['duplicate', 'posted']);
      const ids = outcomes.map((each) => ('posting' in each ? each.posting.id : undefined));
      expect(ids[0], 'both are answered with the same posting').toBe(ids[1]);
    }
    expect((await verifyLedger(db)).problems).toEqual([]);
  });

  it('is free again after a transaction that did not commit', async () => {
    const undone = db.transaction(async (tx) => {
      await ledger.postWithin(tx, [deposit(ada, 1n, 'deposit:MATIC:undone:0')]);
      throw new Error('the feature changed its mind');
    });
    await expect(undone).rejects.toThrow('changed its mind');
    expect((await ledger.post(deposit(ada, 1n, 'deposit:MATIC:undone:0'))).outcome).toBe('posted');
  });

  it('of a refused posting is free', async () => {
    const posting = { ...transfer(ada, bob, 1_000_000n), reference: 'too much' };
    expect((await ledger.post(posting)).outcome).toBe('insufficient_balance');
    expect((await ledger.post({ ...transfer(ada, bob, 1n), reference: 'too much' })).outcome).toBe('posted');
  });

  it.each([
    'UPDATE ledger.posting_references SET posting_id = gen_random_uuid()',
    'DELETE FROM ledger.posting_references',
    'TRUNCATE ledger.posting_references',
  ])('withstands: %s', async (sql) => {
    await expect(db.query(sql)).rejects.toMatchObject({ code: '23001' });
  });

  it('is named by the verification when it and its posting do not agree', async () => {
    await db.query(
      "INSERT INTO ledger.posting_references (reference, posting_id) VALUES ('of nothing', gen_random_uuid())",
    );
    const posted = await ledger.post({ ...transfer(ada, bob, 1n), reference: 'known' });
    if (posted.outcome !== 'posted') throw new Error(posted.outcome);
    await db.transaction(async (tx) => {
      await tx.query('ALTER TABLE ledger.posting_references DISABLE TRIGGER posting_references_append_only');
      await tx.query("DELETE FROM ledger.posting_references WHERE reference = 'known'");
      await tx.query('ALTER TABLE ledger.posting_references ENABLE ALWAYS TRIGGER posting_references_append_only');
    });
    expect((await verifyLedger(db)).problems.toSorted()).toEqual([
      'Reference known and its posting do not match.',
      'Reference of nothing and its posting do not match.',
    ]);
  });
});
