import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDatabase } from '../../../src/kernel/db/database.ts';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { userAccount } from '../../../src/ledger/account-id.ts';
import { balancesOf } from '../../../src/ledger/balances.ts';
import { createLedger, type Ledger } from '../../../src/ledger/ledger.ts';
import type { Outcome, Posting } from '../../../src/ledger/posting.ts';
import { lockOwner } from '../../../src/ledger/require-live-key.ts';
import { verifyLedger } from '../../../src/ledger/verify.ts';
import { useDatabase } from '../../support/database.ts';
import { gate } from '../../support/gate.ts';
import { createOwners, deposit, fund, scope, transfer } from '../../support/ledger.ts';
import { until } from '../../support/until.ts';

const { db, url } = useDatabase();
const logger = createLogger('silent');
/** Two servers on one database: each with its own connections and its own batcher. */
const elsewhere = openDatabase({ url, poolSize: 4, logger, applicationName: 'elsewhere' });
let here: Ledger;
let there: Ledger;

beforeAll(() => {
  here = createLedger({ db, logger });
  there = createLedger({ db: elsewhere, logger });
});
afterAll(async () => {
  await here.stop();
  await there.stop();
  await elsewhere.close();
});

describe('two batchers on one database', () => {
  it('neither deadlock nor lose or make money, whatever they post at once', async () => {
    const owners = await createOwners(db, 12);
    await fund(here, owners, 10_000n);
    const pick = () => owners[Math.floor(Math.random() * owners.length)]?.id ?? 0n;
    const deadlocksBefore = await deadlocks();
    const outcomes: Outcome['outcome'][] = [];
    const client = async (ledger: Ledger) => {
      for (let round = 0; round < 40; round++) {
        const from = pick();
        const to = pick();
        if (from === to) continue;
        // Keys are few, so that duplicates and mismatches meet across the two.
        const idempotency = scope(from, `key ${round % 7}`, `${from} to ${to}`);
        const posting = transfer(
          from,
          to,
          BigInt(1 + Math.floor(Math.random() * 4_000)),
          round % 3 === 0 ? { idempotency } : {},
        );
        const within = round % 5 === 0;
        outcomes.push((within ? await postInOwnTransaction(ledger, posting) : await ledger.post(posting)).outcome);
      }
    };
    await Promise.all(Array.from({ length: 24 }, (_, index) => client(index % 2 === 0 ? here : there)));
    expect(outcomes.length).toBeGreaterThan(700);
    expect(new Set(outcomes)).toEqual(new Set(['posted', 'insufficient_balance', 'duplicate', 'mismatch']));
    expect(await deadlocks()).toBe(deadlocksBefore);
    expect((await verifyLedger(db)).problems).toEqual([]);
  });

  it('open the same new accounts at once', async () => {
    const [rich, ...newcomers] = await createOwners(db, 60);
    if (rich === undefined) throw new Error('no owner');
    await fund(here, [rich], 1_000_000n);
    const deadlocksBefore = await deadlocks();
    const gifts = newcomers.flatMap(({ id }) => [
      here.post(transfer(rich.id, id, 100n)),
      there.post(deposit(id, 50n, `deposit:MATIC:gift:${id}`)),
    ]);
    expect(new Set((await Promise.all(gifts)).map(({ outcome }) => outcome))).toEqual(new Set(['posted']));
    expect(await deadlocks()).toBe(deadlocksBefore);
    expect((await verifyLedger(db)).problems).toEqual([]);
  });
});

describe('lockOwner', () => {
  it('lets no posting commit after the revocation', async () => {
    const [ada, bob] = await createOwners(db, 2);
    if (ada === undefined || bob === undefined) throw new Error('no owners');
    await fund(here, [ada], 1_000_000n);
    let revoked = false;
    const late: string[] = [];
    let postings = 0;
    const sender = async (ledger: Ledger) => {
      for (;;) {
        const begunAfter = revoked;
        const { outcome } = await ledger.post(transfer(ada.id, bob.id, 1n, { keyId: ada.keyId }));
        if (outcome === 'key_revoked') return;
        postings++;
        if (begunAfter) late.push(outcome);
      }
    };
    const senders = Array.from({ length: 8 }, (_, index) => sender(index % 2 === 0 ? here : there));
    await until('them to be at it', async () => postings >= 50);
    await db.transaction(async (tx) => {
      await lockOwner(tx, ada.id);
      await tx.query('UPDATE api_keys SET revoked_at = now() WHERE id = $1', [ada.keyId]);
    });
    revoked = true;
    const balance = await balanceOf(ada.id);
    await Promise.all(senders);
    expect(late).toEqual([]);
    expect(await balanceOf(ada.id)).toBe(balance);
  });

  it('waits for a posting under way, and holds back the next', async () => {
    const [ada, bob] = await createOwners(db, 2);
    if (ada === undefined || bob === undefined) throw new Error('no owners');
    await fund(here, [ada], 100n);
    const order: string[] = [];
    const [posted, locked] = [gate(), gate()];
    const underWay = db.transaction(async (tx) => {
      await here.postWithin(tx, [transfer(ada.id, bob.id, 10n, { keyId: ada.keyId })]);
      posted.open();
      await until('the revocation to wait', isSomebodyWaiting);
      order.push('posted');
    });
    await posted.opened;
    const revocation = db.transaction(async (tx) => {
      await lockOwner(tx, ada.id);
      order.push('locked');
      locked.open();
      await tx.query('UPDATE api_keys SET revoked_at = now() WHERE id = $1', [ada.keyId]);
      await until('the next posting to wait', isSomebodyWaiting);
      order.push('revoked');
    });
    await underWay;
    await locked.opened;
    const next = there.post(transfer(ada.id, bob.id, 10n, { keyId: ada.keyId }));
    await revocation;
    expect(await next).toEqual({ outcome: 'key_revoked' });
    expect(order).toEqual(['posted', 'locked', 'revoked']);
  });

  it('holds also for an owner who has no ledger account yet', async () => {
    const [rich, newcomer] = await createOwners(db, 2);
    if (rich === undefined || newcomer === undefined) throw new Error('no owners');
    await fund(here, [rich], 100n);
    let gift: Promise<Outcome> | undefined;
    await db.transaction(async (tx) => {
      await lockOwner(tx, newcomer.id);
      await tx.query('UPDATE accounts SET frozen_at = now() WHERE id = $1', [newcomer.id]);
      gift = there.post(transfer(rich.id, newcomer.id, 10n));
      await until('the gift to wait', isSomebodyWaiting);
      expect(await balancesOf(db, newcomer.id)).toEqual([]);
    });
    expect((await gift)?.outcome).toBe('posted');
    expect(await here.post(transfer(newcomer.id, rich.id, 5n))).toEqual({ outcome: 'frozen_account' });
  });

  it('does not deadlock with postings that open accounts of the same owner', async () => {
    const owners = await createOwners(db, 6);
    await fund(here, owners, 1_000n);
    const deadlocksBefore = await deadlocks();
    const posts = owners.flatMap(({ id }, index) =>
      (['EURC', 'DAI', 'ETH'] as const).flatMap((asset) => [
        here.post(deposit(id, 10n, `deposit:MATIC:${asset}:${id}`, asset)),
        there.post(transfer(id, owners[(index + 1) % owners.length]?.id ?? 0n, 10n)),
      ]),
    );
    const locks = owners.map(({ id }) => db.transaction((tx) => lockOwner(tx, id)));
    await Promise.all([...posts, ...locks]);
    expect(await deadlocks()).toBe(deadlocksBefore);
  });
});

async function postInOwnTransaction(ledger: Ledger, posting: Posting): Promise<Outcome> {
  for (;;) {
    try {
      const [outcome] = await db.transaction((tx) => ledger.postWithin(tx, [posting]));
      if (outcome === undefined) throw new Error('no outcome');
      return outcome;
    } catch (error) {
      // Two transactions with one new key: the second finds it taken, and meets the first one's result when it asks again.
      if (!(error instanceof pg.DatabaseError && error.code === '23505')) throw error;
    }
  }
}

/** Whether the database keeps somebody waiting for what another one holds. */
async function isSomebodyWaiting(): Promise<boolean> {
  const { rows } = await db.query(
    "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
  );
  return rows.length > 0;
}

async function balanceOf(ownerId: bigint): Promise<bigint> {
  const balances = await balancesOf(db, ownerId);
  return balances.find(({ account }) => account === userAccount(ownerId, 'USDC'))?.balance.atomic ?? 0n;
}

async function deadlocks(): Promise<bigint> {
  await db.query('SELECT pg_stat_force_next_flush()');
  const { rows } = await db.query<{ deadlocks: bigint }>(
    'SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()',
  );
  return rows[0]?.deadlocks ?? 0n;
}
