import { afterAll, describe, expect, it } from 'vitest';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { houseAccount, userAccount } from '../../../src/ledger/account-id.ts';
import { type HistoryEntry, InvalidCursor, listHistory } from '../../../src/ledger/history.ts';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { openStatement } from '../../../src/ledger/statement.ts';
import { amountOf } from '../../../src/money/amount.ts';
import { useDatabase } from '../../support/database.ts';
import { createOwners, deposit, fund, transfer } from '../../support/ledger.ts';
import { all, statementOf } from '../../support/statement.ts';
import { until } from '../../support/until.ts';

const { db } = useDatabase();
const ledger = createLedger({ db, logger: createLogger('silent') });
afterAll(() => ledger.stop());

describe('history', () => {
  it('shows both sides of a transfer, newest first', async () => {
    const [ada, bob] = await twoFunded();
    await ledger.post(transfer(ada, bob, 500n, { description: 'first' }));
    await ledger.post(transfer(bob, ada, 100n, { description: 'second' }));
    const { entries, nextCursor } = await listHistory(db, { ownerId: ada, limit: 10 });
    expect(nextCursor).toBeNull();
    expect(
      entries.map(({ change, balanceAfter, posting }) => [posting.description, change.atomic, balanceAfter.atomic]),
    ).toEqual([
      ['second', 99n, 9_599n],
      ['first', -500n, 9_500n],
      [null, 10_000n, 10_000n],
    ]);
    expect(entries[1]?.posting).toMatchObject({
      type: 'transfer',
      senderId: ada,
      recipientId: bob,
      fee: amountOf('USDC', 5n),
    });
  });

  it('can be limited to some types', async () => {
    const [ada, bob] = await twoFunded();
    await ledger.post(transfer(ada, bob, 500n));
    const { entries } = await listHistory(db, { ownerId: ada, types: ['transfer', 'order'], limit: 10 });
    expect(entries.map(({ posting }) => posting.type)).toEqual(['transfer']);
  });

  it('is paged without a gap or a repeat while new postings arrive, over several accounts', async () => {
    const [ada, bob] = await twoFunded();
    await ledger.post(deposit(ada, 10_000n, `deposit:MATIC:eurc:${ada}`, 'EURC'));
    const send = (index: number) =>
      ledger.post(
        transfer(ada, bob, 10n, { description: `${index}`, amount: amountOf(index % 3 === 0 ? 'EURC' : 'USDC', 10n) }),
      );
    await Promise.all(Array.from({ length: 90 }, (_, index) => send(index)));
    const whole = await listHistory(db, { ownerId: ada, limit: 100 });
    expect(whole.entries).toHaveLength(92);

    const seen: HistoryEntry[] = [];
    let cursor: string | undefined;
    for (let page = 0; page === 0 || cursor !== undefined; page++) {
      const { entries, nextCursor } = await listHistory(db, { ownerId: ada, limit: 7, ...(cursor && { cursor }) });
      seen.push(...entries);
      cursor = nextCursor ?? undefined;
      await send(1_000 + page);
    }
    expect(seen).toEqual(whole.entries);
  });

  it('shows a swap as two entries, and pages between them', async () => {
    const [ada] = await twoFunded();
    await ledger.post({
      type: 'swap',
      amount: amountOf('USDC', 10n),
      entries: [
        { account: userAccount(ada, 'USDC'), atomic: -10n },
        { account: houseAccount('custody', 'USDC'), atomic: 10n },
        { account: houseAccount('custody', 'USDC', 'BASE'), atomic: -10n },
        { account: userAccount(ada, 'USDC', 'BASE'), atomic: 10n },
      ],
    });
    const first = await listHistory(db, { ownerId: ada, limit: 1 });
    const second = await listHistory(db, { ownerId: ada, limit: 1, cursor: first.nextCursor ?? '' });
    expect([...first.entries, ...second.entries].map(({ change }) => change.atomic)).toEqual([10n, -10n]);
    expect(first.entries[0]?.posting).toEqual(second.entries[0]?.posting);
  });

  it('needs no sorting to read an account backwards', async () => {
    const [ada] = await twoFunded();
    const plan = await db.transaction(async (tx) => {
      // The tables of a test are so small that reading them whole would be cheaper.
      await tx.query('SET LOCAL enable_seqscan = off');
      await tx.query('SET LOCAL enable_bitmapscan = off');
      return tx.query<{ 'QUERY PLAN': string }>(
        `EXPLAIN SELECT amount FROM ledger.account_entries
          WHERE account_id = ${userAccount(ada, 'USDC')} AND posted_at < now() ORDER BY posted_at DESC LIMIT 50`,
      );
    });
    const text = plan.rows.map((row) => row['QUERY PLAN']).join('\n');
    for (const index of ['entry_rows_first_pkey', 'postings_first_by_payer', 'postings_first_by_payee']) {
      expect(text).toContain(`Index Scan Backward using ${index}`);
    }
    expect(text).not.toMatch(/-> {2}Sort/);
  });

  it.each(['', 'x', '1', '1-', "1-1'", '99999999999999999-1'])('does not take %j for a cursor', async (cursor) => {
    await expect(listHistory(db, { ownerId: 1n, limit: 1, cursor })).rejects.toBeInstanceOf(InvalidCursor);
  });
});

describe('a history with much that is small', () => {
  it('is looked at in bounded steps, and nothing is missed or told twice', async () => {
    const [ada, bob] = await twoFunded();
    await ledger.post(deposit(ada, 10_000n, `deposit:MATIC:eurc:${ada}`, 'EURC'));
    const pay = (type: string, asset: 'USDC' | 'EURC' = 'USDC') =>
      ledger.post(transfer(ada, bob, 10n, { type, amount: amountOf(asset, 10n) }));
    for (const type of ['transfer', 'nano', 'nano', 'nano', 'nano', 'transfer', 'nano', 'nano', 'nano'])
      await pay(type);
    await pay('transfer', 'EURC');
    for (let time = 0; time < 5; time++) await pay('nano');
    const whole = await listHistory(db, { ownerId: ada, gather: true, limit: 50 });
    expect(whole.nextCursor).toBeNull();

    for (const { lookAt, limit } of [1, 3, 4].flatMap((lookAt) => [2, 50].map((limit) => ({ lookAt, limit })))) {
      const seen: HistoryEntry[] = [];
      let cursor: string | null | undefined;
      let pages = 0;
      while (cursor !== null) {
        const page = await listHistory(db, { ownerId: ada, gather: true, limit, lookAt, ...(cursor && { cursor }) });
        seen.push(...page.entries);
        cursor = page.nextCursor;
        pages++;
      }
      expect(seen).toEqual(whole.entries);
      // Of USDC there are fifteen entries, so no page can have looked at more of them.
      expect(pages).toBeGreaterThanOrEqual(15 / lookAt);
    }
  });
});

describe('a statement', () => {
  it('adds up from the opening to the closing balance', async () => {
    const [ada, bob] = await twoFunded();
    const account = userAccount(ada, 'USDC');
    const beforeAll = new Date(Date.now() - 60_000);
    await ledger.post(transfer(ada, bob, 1_000n));
    const posted = await ledger.post(transfer(ada, bob, 2_000n));
    if (posted.outcome !== 'posted') throw new Error(posted.outcome);
    const { rows } = await db.query<{ next: Date }>("SELECT date_trunc('milliseconds', now()) + '1 ms' AS next");
    const middle = rows[0]?.next ?? new Date();
    await until('the next millisecond', async () => Date.now() > middle.getTime());
    await ledger.post(transfer(bob, ada, 500n));
    const after = new Date(Date.now() + 60_000);

    const first = await statementOf(db, { account, from: beforeAll, to: middle });
    expect([first.opening.atomic, first.closing.atomic]).toEqual([0n, 7_000n]);
    expect(first.entries.map(({ change }) => change.atomic)).toEqual([10_000n, -1_000n, -2_000n]);

    const second = await statementOf(db, { account, from: middle, to: after });
    expect(second.opening).toEqual(first.closing);
    expect(second.entries.map(({ change }) => change.atomic)).toEqual([495n]);
    expect(second.closing.atomic).toBe(7_495n);
  });

  it('of a quiet period has the same balance twice', async () => {
    const [ada] = await twoFunded();
    const from = new Date(Date.now() + 1_000);
    const statement = await statementOf(db, {
      account: userAccount(ada, 'USDC'),
      from,
      to: new Date(Date.now() + 2_000),
    });
    expect(statement).toMatchObject({
      opening: amountOf('USDC', 10_000n),
      entries: [],
      closing: amountOf('USDC', 10_000n),
    });
  });

  it('of an account that never was is empty', async () => {
    const account = userAccount(987_654n, 'EURC');
    const statement = await statementOf(db, { account, from: new Date(0), to: new Date() });
    expect(statement).toEqual({ account, opening: amountOf('EURC', 0n), entries: [], closing: amountOf('EURC', 0n) });
  });

  const always = { from: new Date(0), to: new Date('2199-01-01') };

  it('is read some entries at a time, and is the same whatever is in memory at once', async () => {
    const [ada, bob] = await twoFunded();
    await Promise.all(Array.from({ length: 12 }, () => ledger.post(transfer(ada, bob, 10n))));
    const query = { account: userAccount(ada, 'USDC'), ...always };
    const { entries: whole } = await statementOf(db, query);
    expect(whole).toHaveLength(13);
    for (const chunkSize of [1, 5, 13]) {
      const chunks: (readonly HistoryEntry[])[] = [];
      for await (const chunk of (await openStatement(db, { ...query, chunkSize })).entries()) chunks.push(chunk);
      expect(Math.max(...chunks.map(({ length }) => length))).toBe(chunkSize);
      expect(chunks.flat()).toEqual(whole);
    }
  });

  it('is all of the moment at which it was opened', async () => {
    const [ada, bob] = await twoFunded();
    for (let time = 0; time < 3; time++) await ledger.post(transfer(ada, bob, 10n));
    const { entries, closing } = await openStatement(db, {
      account: userAccount(ada, 'USDC'),
      ...always,
      chunkSize: 2,
    });
    const seen: HistoryEntry[] = [];
    for await (const chunk of entries()) {
      seen.push(...chunk);
      await ledger.post(transfer(ada, bob, 1_000n));
    }
    expect(seen.map(({ change }) => change.atomic)).toEqual([10_000n, -10n, -10n, -10n]);
    expect(seen.at(-1)?.balanceAfter).toEqual(closing);
  });

  it('fails on the way when its entries do not lead where they say', async () => {
    const [ada, bob] = await twoFunded();
    const account = userAccount(ada, 'USDC');
    for (let time = 0; time < 4; time++) await ledger.post(transfer(ada, bob, 10n));
    await tamper(`DELETE FROM ledger.postings WHERE payer = ${account} AND payer_after = 9970`);
    const seen: HistoryEntry[] = [];
    const read = async () => {
      const { entries } = await openStatement(db, { account, ...always, chunkSize: 2 });
      for await (const chunk of entries()) seen.push(...chunk);
    };
    await expect(read()).rejects.toThrow(`the entries of account ${account} lead to 9970, but it recorded 9960`);
    expect(seen.map(({ balanceAfter }) => balanceAfter.atomic)).toEqual([10_000n, 9_990n]);
  });

  it('tells what is small and many by the hour, also where an hour is read in several bits', async () => {
    const [ada, bob] = await twoFunded();
    for (let time = 0; time < 5; time++) await ledger.post(transfer(ada, bob, 10n, { type: 'nano' }));
    await ledger.post(transfer(ada, bob, 100n));
    const query = { account: userAccount(ada, 'USDC'), ...always };
    const told = async (chunkSize: number) => all((await openStatement(db, { ...query, chunkSize })).lines());
    const whole = await told(100);
    // An hour may have ended in between: then there are two lines of calls.
    const calls = whole.filter(({ posting }) => posting.type === 'nano');
    expect(calls.reduce((sum, { gathered = 0 }) => sum + gathered, 0)).toBe(5);
    expect(calls.length).toBeLessThanOrEqual(2);
    expect(whole.at(-1)?.balanceAfter.atomic).toBe(9_850n);
    for (const chunkSize of [1, 2, 3]) expect(await told(chunkSize)).toEqual(whole);
  });
});

/** Does what the database otherwise refuses. */
async function tamper(sql: string): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.query('ALTER TABLE ledger.postings DISABLE TRIGGER USER');
    await tx.query(sql);
    await tx.query('ALTER TABLE ledger.postings ENABLE TRIGGER USER');
  });
}

async function twoFunded(): Promise<[bigint, bigint]> {
  const [ada, bob] = await createOwners(db, 2);
  if (ada === undefined || bob === undefined) throw new Error('no owners');
  await fund(ledger, [ada], 10_000n);
  await fund(ledger, [bob], 10_000n);
  return [ada.id, bob.id];
}
