import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '../../../src/kernel/db/database.ts';
import { OutcomeUnknown } from '../../../src/kernel/db/errors.ts';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { userAccount } from '../../../src/ledger/account-id.ts';
import { spendableBalances } from '../../../src/ledger/balances.ts';
import { LedgerBusy, LedgerUnavailable } from '../../../src/ledger/errors.ts';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { verifyLedger } from '../../../src/ledger/verify.ts';
import { useDatabase } from '../../support/database.ts';
import { createOwners, fund, scope, transfer } from '../../support/ledger.ts';
import { startWire } from '../../support/wire.ts';

const { db, url } = useDatabase();
const logger = createLogger('silent');
const ledger = createLedger({ db, logger });
const closers: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  await ledger.stop();
  for (const close of closers) await close();
});

function open(applicationName: string, to = url): Database {
  const database = openDatabase({ url: to, poolSize: 2, logger, applicationName });
  closers.push(() => database.close());
  return database;
}

describe('the batcher', () => {
  it('gathers what arrives while a batch commits', async () => {
    const [ada, bob] = await twoFunded();
    const before = await commits();
    await Promise.all(Array.from({ length: 300 }, () => ledger.post(transfer(ada, bob, 1n))));
    // 300 transfers, and only a handful of commits for them.
    expect((await commits()) - before).toBeLessThan(20);
    expect(await spendable(ada)).toBe(9_700n);
  });

  it('sends a posting at once that follows two lone ones, and gathers again when there are several', async () => {
    const [ada, bob] = await twoFunded();
    const sizes: number[] = [];
    const quick = createLedger({ db, logger, onBatch: ({ postings }) => void sizes.push(postings) });
    const post = (count: number) =>
      Promise.all(Array.from({ length: count }, () => quick.post(transfer(ada, bob, 1n))));
    await post(1);
    await post(1);
    await post(3);
    await post(3);
    expect(sizes.toSorted()).toEqual([1, 1, 1, 2, 3]);
    expect(await spendable(ada)).toBe(9_992n);
    await quick.stop();
  });

  it('lets nobody wait for a batch that waits for an account that somebody holds', async () => {
    const [ada, bob] = await twoFunded();
    const [cleo, dan] = await twoFunded();
    const waiting = await db.transaction(async (tx) => {
      await tx.query('SELECT FROM ledger.accounts WHERE id = $1 FOR UPDATE', [userAccount(ada, 'USDC')]);
      const posting = ledger.post(transfer(ada, bob, 1n));
      await setImmediate();
      expect((await ledger.post(transfer(cleo, dan, 1n))).outcome).toBe('posted');
      return { posting };
    });
    expect((await waiting.posting).outcome).toBe('posted');
  });

  it('is busy while many wait, and no longer', async () => {
    const [ada, bob] = await twoFunded();
    const posting = Array.from({ length: 16 }, () => ledger.post(transfer(ada, bob, 1n)));
    expect(ledger.isBusy).toBe(true);
    await Promise.all(posting);
    expect(ledger.isBusy).toBe(false);
  });

  it('refuses what is too much instead of letting it pile up', async () => {
    const [ada, bob] = await twoFunded();
    const small = createLedger({ db, logger, limits: { waiting: 10, batchesInFlight: 1 } });
    const results = await Promise.allSettled(Array.from({ length: 50 }, () => small.post(transfer(ada, bob, 1n))));
    const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
    expect(refused).toHaveLength(40);
    for (const error of refused) expect(error).toBeInstanceOf(LedgerBusy);
    expect(refused[0]).toMatchObject({ retryAfterSeconds: 1 });
    expect(await spendable(ada)).toBe(9_990n);
    expect((await small.post(transfer(ada, bob, 1n))).outcome).toBe('posted');
  });

  it('does not let one posting fail its neighbours', async () => {
    const [ada, bob] = await twoFunded();
    const posts = Array.from({ length: 40 }, (_, index) =>
      // No number of an account is that large.
      ledger.post(transfer(ada, bob, 1n, index === 17 ? { senderId: 2n ** 63n } : {})),
    );
    const results = await Promise.allSettled(posts);
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(39);
    expect(results[17]).toMatchObject({ status: 'rejected', reason: { code: '22003' } });
    expect(await spendable(ada)).toBe(9_961n);
  });

  it('lets one that cannot be encoded fail alone, with its own error', async () => {
    const [ada, bob] = await twoFunded();
    const refuse = () => {
      throw new Error('its decision cannot be written');
    };
    const decision = { payee: undefined, template: refuse, parts: refuse, refused() {} };
    const bad = { authority: { stamp: 0n, spends: [], decision } };
    const posts = Array.from({ length: 5 }, (_, at) => ledger.post(transfer(ada, bob, 1n, at === 2 ? bad : {})));
    const results = await Promise.allSettled(posts);
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(4);
    expect(results[2]).toMatchObject({ reason: { message: 'its decision cannot be written' } });
  });

  it('keeps a guarded payment from repeating one that waits beside it, guarded or not', async () => {
    const [ada, bob] = await twoFunded();
    const guard = { guard: { notDuplicateOf: undefined } };
    // So that the next ones gather.
    await Promise.all([ledger.post(transfer(ada, bob, 1n)), ledger.post(transfer(ada, bob, 2n))]);
    const asked = [{}, guard, {}, guard].map((more) => ledger.post(transfer(ada, bob, 100n, more)));
    const outcomes = (await Promise.all(asked)).map(({ outcome }) => outcome);
    expect(outcomes).toEqual(['posted', 'possible_duplicate', 'posted', 'possible_duplicate']);
    // Another amount is another payment.
    expect((await ledger.post(transfer(ada, bob, 101n, guard))).outcome).toBe('posted');
  });

  it('answers everything it took before it stops, and takes nothing after', async () => {
    const [ada, bob] = await twoFunded();
    const ending = createLedger({ db, logger, limits: { batchSize: 3 } });
    const posts = Array.from({ length: 20 }, () => ending.post(transfer(ada, bob, 1n)));
    await ending.stop();
    expect(await spendable(ada)).toBe(9_980n);
    expect(new Set((await Promise.all(posts)).map(({ outcome }) => outcome))).toEqual(new Set(['posted']));
    await expect(ending.post(transfer(ada, bob, 1n))).rejects.toBeInstanceOf(LedgerUnavailable);
  });
});

describe('a lost connection', () => {
  it('before the commit: each is told that nobody knows, and a retry posts once', async () => {
    const [ada, bob] = await twoFunded();
    const fragile = createLedger({ db: open('fragile'), logger });
    const request = (key: string) => transfer(ada, bob, 10n, { idempotency: scope(ada, key) });
    let results: PromiseSettledResult<unknown>[] = [];
    await db.transaction(async (tx) => {
      await tx.query('SELECT FROM ledger.accounts WHERE owner_id = $1 FOR UPDATE', [ada]);
      const posts = Promise.allSettled(['a', 'b', 'c'].map((key) => fragile.post(request(key))));
      await blocked('fragile');
      await db.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'fragile'");
      results = await posts;
    });
    for (const result of results) expect(result).toMatchObject({ reason: expect.any(OutcomeUnknown) });
    expect(await spendable(ada)).toBe(10_000n);
    expect((await fragile.post(request('a'))).outcome).toBe('posted');
    expect((await fragile.post(request('a'))).outcome).toBe('duplicate');
    expect(await spendable(ada)).toBe(9_990n);
  });

  it('after the commit: the retry is answered with what was posted', async () => {
    const [ada, bob] = await twoFunded();
    const wire = await startWire(url, (close) => closers.push(close));
    const cut = createLedger({ db: open('cut', wire.url), logger });
    const request = () => transfer(ada, bob, 10n, { idempotency: scope(ada, 'lost answer') });
    await cut.post(transfer(ada, bob, 1n));
    wire.muffle();
    const lost = cut.post(request());
    await expect.poll(() => spendable(ada)).toBe(9_989n);
    wire.cut();
    await expect(lost).rejects.toBeInstanceOf(OutcomeUnknown);
    expect((await ledger.post(request())).outcome).toBe('duplicate');
    expect(await spendable(ada)).toBe(9_989n);
  });

  it('that stays silent is given up after a while', async () => {
    const [ada, bob] = await twoFunded();
    const slow = createLedger({ db: open('slow'), logger, limits: { answerWithinMs: 100 } });
    await db.transaction(async (tx) => {
      await tx.query('SELECT FROM ledger.accounts WHERE owner_id = $1 FOR UPDATE', [ada]);
      await expect(slow.post(transfer(ada, bob, 10n))).rejects.toBeInstanceOf(OutcomeUnknown);
    });
  });

  it('that cannot be made at all means that nothing was posted', async () => {
    const [ada, bob] = await twoFunded();
    const nowhere = createLedger({ db: open('nowhere', 'postgresql://nobody@127.0.0.1:1/none'), logger });
    await expect(nowhere.post(transfer(ada, bob, 10n))).rejects.toBeInstanceOf(LedgerUnavailable);
  });
});

it('leaves a ledger that adds up', async () => {
  expect((await verifyLedger(db)).problems).toEqual([]);
});

async function twoFunded(): Promise<[bigint, bigint]> {
  const [ada, bob] = await createOwners(db, 2);
  if (ada === undefined || bob === undefined) throw new Error('no owners');
  await fund(ledger, [ada], 10_000n);
  return [ada.id, bob.id];
}

async function spendable(ownerId: bigint): Promise<bigint> {
  return (await spendableBalances(db, ownerId)).USDC.atomic;
}

/** Batches that were committed: each has its postings at one moment, a microsecond apart. */
async function commits(): Promise<number> {
  const { rows } = await db.query<{ xid: string }>('SELECT DISTINCT xmin::text AS xid FROM ledger.postings');
  return rows.length;
}

async function blocked(applicationName: string): Promise<void> {
  for (;;) {
    const { rowCount } = await db.query(
      "SELECT FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'",
      [applicationName],
    );
    if ((rowCount ?? 0) > 0) return;
    await sleep(10);
  }
}
