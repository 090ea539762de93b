import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createReserves, type ReservesOptions } from '../../../../src/custody/reserves/reserves.ts';
import { forgetOldLeaves, takeSnapshot } from '../../../../src/custody/reserves/take-snapshot.ts';
import { systemClock } from '../../../../src/kernel/clock.ts';
import { createLogger } from '../../../../src/kernel/log/logger.ts';
import { houseAccount, userAccount } from '../../../../src/ledger/account-id.ts';
import { createLedger, type Ledger } from '../../../../src/ledger/ledger.ts';
import { amountOf } from '../../../../src/money/amount.ts';
import { useDatabase } from '../../../support/database.ts';
import { createOwners, deposit, fund, transfer } from '../../../support/ledger.ts';
import { verifyProof } from '../../../support/proofs.ts';

const { db } = useDatabase();
const logger = createLogger('silent');
let ledger: Ledger;
beforeAll(() => {
  ledger = createLedger({ db, logger });
});
afterAll(() => ledger.stop());

function reservesOf(options: Partial<ReservesOptions> = {}) {
  return createReserves({ db, networks: new Map(), logger, clock: systemClock, snapshotMinAgeMs: 0, ...options });
}

interface Person {
  readonly accountId: bigint;
  readonly handle: string;
}

async function people(count: number): Promise<Person[]> {
  const owners = await createOwners(db, count);
  const { rows } = await db.query<{ id: bigint; handle: string }>(
    'SELECT id, handle FROM accounts WHERE id = ANY ($1) ORDER BY id',
    [owners.map(({ id }) => id)],
  );
  return rows.map(({ id, handle }) => ({ accountId: id, handle }));
}

async function funded(count: number, atomic: bigint): Promise<Person[]> {
  const made = await people(count);
  await fund(
    ledger,
    made.map(({ accountId }) => ({ id: accountId })),
    atomic,
  );
  return made;
}

async function owed(): Promise<bigint> {
  const { rows } = await db.query<{ sum: bigint }>(
    'SELECT sum(balance) FROM ledger.accounts WHERE ledger.kind_of(id) <> 32 AND ledger.asset_of(id) = 1 AND ledger.chain_of(id) = 1',
  );
  return rows[0]?.sum ?? 0n;
}

const atomicOf = (text = '') => BigInt(Math.round(Number(text) * 1e6));

describe('a snapshot', () => {
  test('proves everybody’s balance, on every chain and in every asset, against the published roots', async () => {
    const [ada, bob, cyd] = (await funded(3, 50_000_000n)) as [Person, Person, Person];
    await ledger.post(transfer(ada.accountId, bob.accountId, 10_000_000n));
    await ledger.post(deposit(cyd.accountId, 7_000_000n, `deposit:MATIC:${randomUUID()}:0`, 'EURC'));
    await ledger.post({
      type: 'deposit',
      amount: amountOf('USDC', 3n),
      entries: [
        { account: houseAccount('custody', 'USDC', 'BASE'), atomic: -3n },
        { account: userAccount(cyd.accountId, 'USDC', 'BASE'), atomic: 3n },
      ],
    });
    const reserves = reservesOf();
    await reserves.snapshot();
    const published = { proof: await reserves.published() };
    for (const [person, expected] of [
      [ada, ['40 USDC on MATIC']],
      [bob, ['59.9 USDC on MATIC']],
      [cyd, ['0.000003 USDC on BASE', '7 EURC on MATIC', '50 USDC on MATIC']],
    ] as const) {
      const proof = await reserves.prove(person);
      expect(verifyProof(proof, published)).toEqual(expected);
    }
    const total = published.proof?.roots.find(({ chain, asset }) => chain === 'MATIC' && asset === 'USDC')?.total;
    // Everything that is owed, the fees of the house too.
    expect(atomicOf(total)).toBe(await owed());
    const { rows } = await db.query('SELECT FROM reserve_trees WHERE total <> owed OR total IS NULL');
    expect(rows).toEqual([]);
    const onlyBase = await reserves.prove({ ...cyd, chain: 'BASE' });
    expect(onlyBase?.proofs.map(({ chain }) => chain)).toEqual(['BASE']);
    expect((await reserves.prove({ ...ada, asset: 'EURC' }))?.proofs).toEqual([]);
  });

  test('says of somebody who has nothing that nothing is owed', async () => {
    const [nobody] = (await people(1)) as [Person];
    const proof = await reservesOf().prove(nobody);
    expect(proof?.proofs).toEqual([]);
    expect(() => verifyProof(proof)).toThrow(/nothing is owed/);
  });

  test('sees one moment, however many transfers are posted meanwhile', async () => {
    const crowd = await funded(40, 1_000_000n);
    let stop = false;
    const pouring = Promise.all(
      Array.from({ length: 8 }, async (_, lane) => {
        for (let turn = lane; !stop; turn++) {
          const [from, to] = [crowd[turn % 40], crowd[(turn * 7 + 1) % 40]] as [Person, Person];
          if (from !== to)
            await ledger.post(transfer(from.accountId, to.accountId, 1_000n, { fee: amountOf('USDC', 10n) }));
        }
      }),
    );
    const before = await owed();
    for (let round = 0; round < 3; round++) {
      const id = await takeSnapshot(db, { minAgeMs: 0 });
      const { rows } = await db.query<{ total: bigint; owed: bigint; users: bigint }>(
        `SELECT t.total, t.owed, (SELECT sum(balance) FROM reserve_owners o WHERE o.tree_id = t.id) AS users
           FROM reserve_trees t WHERE snapshot_id = $1 AND asset = 'USDC' AND chain = 'MATIC'`,
        [id],
      );
      expect(rows[0]?.total ?? 0n).toBe(before);
      expect(rows[0]?.owed).toBe(rows[0]?.total);
      expect(rows[0]?.users ?? 0n).toBeLessThanOrEqual(before);
    }
    stop = true;
    await pouring;
    const reserves = reservesOf();
    for (const person of crowd.slice(0, 5)) expect(verifyProof(await reserves.prove(person))).toHaveLength(1);
  });

  test('holds thousands, and gives each of them a proof', async () => {
    const crowd = await funded(1_500, 1_234_567n);
    const reserves = reservesOf();
    await reserves.snapshot();
    const published = { proof: await reserves.published() };
    for (const person of crowd.filter((_, index) => index % 97 === 0)) {
      expect(verifyProof(await reserves.prove(person), published)).toEqual(['1.234567 USDC on MATIC']);
    }
  });
});

describe('snapshots over time', () => {
  test('are taken by one, however many ask, and not again too soon', async () => {
    const count = async () => (await db.query('SELECT FROM reserve_snapshots')).rowCount ?? 0;
    await db.query("UPDATE reserve_snapshots SET taken_at = taken_at - interval '1 hour'");
    const before = await count();
    const [one, other] = [reservesOf({ snapshotMinAgeMs: 60_000 }), reservesOf({ snapshotMinAgeMs: 60_000 })];
    await Promise.all([one.snapshot(), one.snapshot(), other.snapshot(), other.snapshot()]);
    expect(await count()).toBe(before + 1);
    await other.snapshot();
    expect(await count()).toBe(before + 1);
  });

  test('show a change at the next question in the sandbox, and elsewhere only after a while', async () => {
    const [ada] = (await funded(1, 5_000_000n)) as [Person];
    const eager = reservesOf();
    expect((await eager.prove(ada))?.proofs[0]?.balance).toBe('5');
    await fund(ledger, [{ id: ada.accountId }], 1_000_000n);
    expect((await reservesOf({ snapshotMinAgeMs: 60_000 }).prove(ada))?.proofs[0]?.balance).toBe('5');
    const changed = await reservesOf({ snapshotMinAgeMs: 300 }).prove(ada);
    expect(changed?.proofs[0]?.balance).toBe('6');
    // Nothing has changed since, so the same snapshot answers.
    expect((await eager.prove(ada))?.snapshotId).toBe(changed?.snapshotId);
  });

  test('that were never finished are seen by nobody, and go', async () => {
    const [ada] = (await funded(1, 5_000_000n)) as [Person];
    const reserves = reservesOf();
    const proof = await reserves.prove(ada);
    // A process that was killed in the middle leaves this behind.
    await db.query("INSERT INTO reserve_snapshots (id, taken_at) VALUES ('rsv_dead', now() + interval '1 second')");
    const { rows } = await db.query<{ id: bigint }>(
      `INSERT INTO reserve_trees (snapshot_id, chain, asset, owed, key)
       VALUES ('rsv_dead', 'MATIC', 'USDC', 1, decode(repeat('00', 32), 'hex')) RETURNING id`,
    );
    const treeId = rows[0]?.id;
    await db.query("INSERT INTO reserve_pages VALUES ($1, 0, 0, '\\x00')", [treeId]);
    expect((await reserves.published())?.snapshotId).toBe(proof?.snapshotId);
    expect(await reserves.prove({ ...ada, snapshotId: 'rsv_dead' })).toBeUndefined();
    await db.query("UPDATE reserve_snapshots SET taken_at = now() - interval '2 hours' WHERE id = 'rsv_dead'");
    await forgetOldLeaves(db);
    expect((await db.query("SELECT FROM reserve_snapshots WHERE id = 'rsv_dead'")).rowCount).toBe(0);
    expect((await db.query('SELECT FROM reserve_pages WHERE tree_id = $1', [treeId])).rowCount).toBe(0);
  });

  test('that fail do not keep the next one waiting', async () => {
    await db.query("UPDATE reserve_snapshots SET taken_at = taken_at - interval '1 hour'");
    await db.query('ALTER TABLE reserve_pages RENAME TO hidden_pages');
    await expect(takeSnapshot(db, { minAgeMs: 60_000 })).rejects.toThrow(/reserve_pages/);
    await db.query('ALTER TABLE hidden_pages RENAME TO reserve_pages');
    expect(await takeSnapshot(db, { minAgeMs: 60_000 })).toMatch(/^rsv_/);
  });

  test('keep their leaves for a while and their roots for ever', async () => {
    const [ada] = (await funded(1, 9_000_000n)) as [Person];
    const reserves = reservesOf();
    const old = await reserves.prove(ada);
    await takeSnapshot(db, { minAgeMs: 0 });
    await takeSnapshot(db, { minAgeMs: 0 });
    const snapshotId = old?.snapshotId ?? '';
    expect(await reserves.prove({ ...ada, snapshotId })).toEqual(old);
    await forgetOldLeaves(db, 2);
    expect(await reserves.prove({ ...ada, snapshotId })).toBeUndefined();
    // Whoever has kept the proof can still check it.
    expect(verifyProof(old, { proof: await reserves.published(snapshotId) })).toHaveLength(1);
    const { rows } = await db.query('SELECT count(DISTINCT tree_id)::int AS trees FROM reserve_pages');
    const kept = await db.query('SELECT FROM reserve_trees WHERE key IS NOT NULL');
    expect(rows).toEqual([{ trees: kept.rowCount }]);
  });
});
