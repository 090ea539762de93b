import { afterAll, describe, expect, it } from 'vitest';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { houseAccount, userAccount } from '../../../src/ledger/account-id.ts';
import { balancesOf, spendableBalances } from '../../../src/ledger/balances.ts';
import { forgetKeysOlderThan } from '../../../src/ledger/feature.ts';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { newPostingId } from '../../../src/ledger/posting.ts';
import { verifyLedger } from '../../../src/ledger/verify.ts';
import { amountOf } from '../../../src/money/amount.ts';
import { useDatabase } from '../../support/database.ts';
import { createOwners, deposit, fund, scope, transfer } from '../../support/ledger.ts';

const { db } = useDatabase();
const ledger = createLedger({ db, logger: createLogger('silent') });
afterAll(() => ledger.stop());

async function spendable(ownerId: bigint): Promise<bigint> {
  return (await spendableBalances(db, ownerId)).USDC.atomic;
}

describe('a posting', () => {
  it('moves money, fee included, and says so', async () => {
    const [ada, bob] = await twoFunded(1_000n);
    const id = newPostingId();
    const outcome = await ledger.post(
      transfer(ada.id, bob.id, 500n, { id, description: 'for "lunch" \\ {tea}, thanks' }),
    );
    expect(outcome).toMatchObject({
      outcome: 'posted',
      posting: {
        id,
        type: 'transfer',
        amount: amountOf('USDC', 500n),
        fee: amountOf('USDC', 5n),
        senderId: ada.id,
        recipientId: bob.id,
        description: 'for "lunch" \\ {tea}, thanks',
      },
    });
    expect([await spendable(ada.id), await spendable(bob.id)]).toEqual([500n, 1_495n]);
  });

  it('opens the account of somebody who never had anything', async () => {
    const [ada] = await twoFunded(1_000n);
    const [newcomer] = await createOwners(db, 1);
    if (newcomer === undefined) throw new Error('no owner');
    expect(await balancesOf(db, newcomer.id)).toEqual([]);
    await ledger.post(transfer(ada.id, newcomer.id, 100n));
    expect(await spendable(newcomer.id)).toBe(99n);
  });

  it('holds eighteen decimals exactly, far beyond what a bigint column could', async () => {
    const [ada, bob] = await twoFunded(0n);
    const million = 10n ** 24n + 1n;
    await ledger.post(deposit(ada.id, million, `deposit:MATIC:dai:${ada.id}`, 'DAI'));
    await ledger.post(
      transfer(ada.id, bob.id, million, { amount: amountOf('DAI', million), fee: amountOf('DAI', 1n) }),
    );
    expect((await spendableBalances(db, bob.id)).DAI).toEqual(amountOf('DAI', 10n ** 24n));
  });

  it('without a fee leaves the entry of zero out', async () => {
    const [ada, bob] = await twoFunded(1_000n);
    const outcome = await ledger.post(transfer(ada.id, bob.id, 10n, { fee: amountOf('USDC', 0n) }));
    if (outcome.outcome !== 'posted') throw new Error(outcome.outcome);
    const { rows } = await db.query(
      'SELECT FROM ledger.entries e JOIN ledger.postings p ON p.id = e.posting_id WHERE p.sender_id = $1',
      [ada.id],
    );
    expect(rows).toHaveLength(2);
  });

  it('swaps two assets of one owner', async () => {
    const [ada] = await twoFunded(1_000n);
    const outcome = await ledger.post({
      type: 'swap',
      amount: amountOf('USDC', 1_000n),
      senderId: ada.id,
      entries: [
        { account: userAccount(ada.id, 'USDC'), atomic: -1_000n },
        { account: houseAccount('custody', 'USDC'), atomic: 1_000n },
        { account: houseAccount('custody', 'ETH'), atomic: -(10n ** 15n) },
        { account: userAccount(ada.id, 'ETH'), atomic: 10n ** 15n },
      ],
    });
    expect(outcome.outcome).toBe('posted');
    expect(await spendableBalances(db, ada.id)).toMatchObject({ USDC: { atomic: 0n }, ETH: { atomic: 10n ** 15n } });
  });

  it('that would overdraw is refused, and changes nothing', async () => {
    const [ada, bob] = await twoFunded(100n);
    expect(await ledger.post(transfer(ada.id, bob.id, 101n))).toEqual({ outcome: 'insufficient_balance' });
    expect([await spendable(ada.id), await spendable(bob.id)]).toEqual([100n, 100n]);
  });

  it('of somebody who never had anything is refused the same way', async () => {
    const [empty, other] = await createOwners(db, 2);
    if (empty === undefined || other === undefined) throw new Error('no owners');
    expect(await ledger.post(transfer(empty.id, other.id, 1n))).toEqual({ outcome: 'insufficient_balance' });
  });

  it('to nobody is refused', async () => {
    const [ada] = await twoFunded(100n);
    expect(await ledger.post(transfer(ada.id, 999_999_999n, 10n))).toEqual({ outcome: 'unknown_account' });
    expect(await ledger.post(transfer(999_999_999n, ada.id, 10n))).toEqual({ outcome: 'unknown_account' });
    expect(await spendable(ada.id)).toBe(100n);
  });

  it('from a house account that must not go below zero is refused too', async () => {
    const [ada] = await twoFunded(0n);
    const outcome = await ledger.post({
      type: 'refund',
      amount: amountOf('EURC', 5n),
      entries: [
        { account: houseAccount('surplus', 'EURC'), atomic: -5n },
        { account: userAccount(ada.id, 'EURC'), atomic: 5n },
      ],
    });
    expect(outcome).toEqual({ outcome: 'insufficient_balance' });
  });

  it('of a frozen account is refused, while it still receives', async () => {
    const [ada, bob] = await twoFunded(100n);
    await db.query('UPDATE accounts SET frozen_at = now() WHERE id = $1', [ada.id]);
    expect(await ledger.post(transfer(ada.id, bob.id, 10n))).toEqual({ outcome: 'frozen_account' });
    expect(await ledger.post(transfer(bob.id, ada.id, 10n))).toMatchObject({ outcome: 'posted' });
  });

  it('under a revoked key is refused, and a saga goes on without one', async () => {
    const [ada, bob] = await twoFunded(100n);
    await db.query('UPDATE api_keys SET revoked_at = now() WHERE id = $1', [ada.keyId]);
    expect(await ledger.post(transfer(ada.id, bob.id, 10n, { keyId: ada.keyId }))).toEqual({ outcome: 'key_revoked' });
    expect(await ledger.post(transfer(ada.id, bob.id, 10n))).toMatchObject({ outcome: 'posted' });
    expect(await ledger.post(transfer(bob.id, ada.id, 10n, { keyId: bob.keyId }))).toMatchObject({ outcome: 'posted' });
  });

  it('under a key whose day has come is refused, and until then it is not', async () => {
    const [ada, bob] = await twoFunded(100n);
    const pay = () => ledger.post(transfer(ada.id, bob.id, 10n, { keyId: ada.keyId }));
    await db.query("UPDATE api_keys SET expires_at = now() + interval '1 hour' WHERE id = $1", [ada.keyId]);
    expect(await pay()).toMatchObject({ outcome: 'posted' });
    await db.query('UPDATE api_keys SET expires_at = now() WHERE id = $1', [ada.keyId]);
    expect(await pay()).toEqual({ outcome: 'key_revoked' });
    expect(await ledger.post(transfer(bob.id, ada.id, 10n, { keyId: bob.keyId }))).toMatchObject({ outcome: 'posted' });
  });
});

describe('an idempotency key', () => {
  it('answers the same request with the first result', async () => {
    const [ada, bob] = await twoFunded(100n);
    const request = () =>
      ledger.post(
        transfer(ada.id, bob.id, 10n, { idempotency: scope(ada.id, 'k'), description: 'once', details: { a: [1] } }),
      );
    const first = await request();
    const second = await request();
    expect(first.outcome).toBe('posted');
    expect(second).toEqual({ ...first, outcome: 'duplicate' });
    expect(await spendable(ada.id)).toBe(90n);
  });

  it('posts once however many ask at the same moment', async () => {
    const [ada, bob] = await twoFunded(100n);
    const asked = Array.from({ length: 20 }, () =>
      ledger.post(transfer(ada.id, bob.id, 10n, { idempotency: scope(ada.id, 'at once') })),
    );
    const outcomes = (await Promise.all(asked)).map(({ outcome }) => outcome).sort();
    expect(outcomes).toEqual([...Array.from({ length: 19 }, () => 'duplicate'), 'posted']);
    expect(await spendable(ada.id)).toBe(90n);
  });

  it('does not serve another request', async () => {
    const [ada, bob] = await twoFunded(100n);
    await ledger.post(transfer(ada.id, bob.id, 10n, { idempotency: scope(ada.id, 'k', 'ten') }));
    const other = await ledger.post(transfer(ada.id, bob.id, 20n, { idempotency: scope(ada.id, 'k', 'twenty') }));
    expect(other).toEqual({ outcome: 'mismatch' });
  });

  it('belongs to one account', async () => {
    const [ada, bob] = await twoFunded(100n);
    await ledger.post(transfer(ada.id, bob.id, 10n, { idempotency: scope(ada.id, 'mine') }));
    const other = await ledger.post(transfer(bob.id, ada.id, 10n, { idempotency: scope(bob.id, 'mine') }));
    expect(other.outcome).toBe('posted');
  });

  it('is not bound by a refusal', async () => {
    const [ada, bob] = await twoFunded(5n);
    const request = () => ledger.post(transfer(ada.id, bob.id, 10n, { idempotency: scope(ada.id, 'later') }));
    expect(await request()).toEqual({ outcome: 'insufficient_balance' });
    await ledger.post(deposit(ada.id, 100n, `deposit:MATIC:later:${ada.id}`));
    expect((await request()).outcome).toBe('posted');
  });

  it('is forgotten once it is old, and then serves again', async () => {
    const [ada, bob] = await twoFunded(100n);
    const request = () => ledger.post(transfer(ada.id, bob.id, 10n, { idempotency: scope(ada.id, 'old') }));
    await request();
    expect(await forgetKeysOlderThan(db, 60 * 60_000)).toBe(0);
    expect((await request()).outcome).toBe('duplicate');
    expect(await forgetKeysOlderThan(db, -60_000)).toBeGreaterThan(0);
    expect((await request()).outcome).toBe('posted');
  });

  it('may hold anything that a header can', async () => {
    const [ada, bob] = await twoFunded(100n);
    for (const key of ['"', '\\', '{},', 'NULL', 'null', ' ', 'é', "'; --"]) {
      const request = () => ledger.post(transfer(ada.id, bob.id, 1n, { idempotency: scope(ada.id, key) }));
      expect([(await request()).outcome, (await request()).outcome]).toEqual(['posted', 'duplicate']);
    }
  });
});

describe('a reference to the outside', () => {
  it('is credited once', async () => {
    const [ada] = await twoFunded(0n);
    const log = `deposit:MATIC:0xabc:${ada.id}`;
    const asked = [ledger.post(deposit(ada.id, 7n, log)), ledger.post(deposit(ada.id, 7n, log))];
    // Two batches may be under way at once, and either may be first.
    expect((await Promise.all(asked)).map(({ outcome }) => outcome).sort()).toEqual(['duplicate', 'posted']);
    expect((await ledger.post(deposit(ada.id, 7n, log))).outcome).toBe('duplicate');
    expect(await spendable(ada.id)).toBe(7n);
  });
});

describe('a batch', () => {
  it('judges in order: what comes in early can go out later', async () => {
    const [ada, bob] = await twoFunded(0n);
    const outcomes = await db.transaction((tx) =>
      ledger.postWithin(tx, [
        transfer(ada.id, bob.id, 50n),
        deposit(ada.id, 100n, `deposit:MATIC:order:${ada.id}`),
        transfer(ada.id, bob.id, 60n),
        transfer(ada.id, bob.id, 60n),
        transfer(ada.id, bob.id, 40n),
      ]),
    );
    expect(outcomes.map(({ outcome }) => outcome)).toEqual([
      'insufficient_balance',
      'posted',
      'posted',
      'insufficient_balance',
      'posted',
    ]);
    expect(await spendable(ada.id)).toBe(0n);
    const times = outcomes.flatMap((outcome) => ('posting' in outcome ? [outcome.posting.postedAt.getTime()] : []));
    expect(times).toEqual(times.toSorted((left, right) => left - right));
  });

  it('within a transaction that rolls back leaves nothing', async () => {
    const [ada, bob] = await twoFunded(100n);
    const [newcomer] = await createOwners(db, 1);
    if (newcomer === undefined) throw new Error('no owner');
    const undone = db.transaction(async (tx) => {
      await ledger.postWithin(tx, [transfer(ada.id, newcomer.id, 60n), transfer(ada.id, bob.id, 10n)]);
      throw new Error('the feature changed its mind');
    });
    await expect(undone).rejects.toThrow('changed its mind');
    expect(await spendable(ada.id)).toBe(100n);
    expect((await ledger.post(transfer(ada.id, newcomer.id, 10n))).outcome).toBe('posted');
  });

  it('refuses a snapshot older than its locks', async () => {
    const [ada, bob] = await twoFunded(100n);
    const stale = db.transaction(async (tx) => {
      await tx.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ');
      await ledger.postWithin(tx, [transfer(ada.id, bob.id, 10n)]);
    });
    await expect(stale).rejects.toThrow('READ COMMITTED');
  });
});

describe('events', () => {
  it('are recorded for those who asked, in the same commit', async () => {
    const [ada, bob] = await twoFunded(100n);
    const events = { senderEvent: 'payment.sent', recipientEvent: 'payment.received' };
    await ledger.post(transfer(ada.id, bob.id, 10n, events));
    await db.query("INSERT INTO ledger.event_subscriptions VALUES ($1, 'payment.received'), ($2, 'invoice.paid')", [
      bob.id,
      ada.id,
    ]);
    const outcome = await ledger.post(transfer(ada.id, bob.id, 10n, events));
    await ledger.post(transfer(ada.id, bob.id, 10_000n, events));
    const { rows } = await db.query('SELECT account_id, type, posting_id, created_at FROM ledger.events');
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({ accountId: bob.id, type: 'payment.received' });
    expect(outcome).toMatchObject({ posting: { postedAt: rows[0]?.['createdAt'] } });
  });
});

describe('a posting that makes no sense', () => {
  it.each([
    ['is unbalanced', { entries: [{ account: userAccount(1n, 'USDC'), atomic: 5n }] }],
    ['moves nothing', { entries: [] }],
    [
      'names an account twice',
      {
        entries: [
          { account: userAccount(1n, 'USDC'), atomic: 5n },
          { account: userAccount(1n, 'USDC'), atomic: -5n },
        ],
      },
    ],
    ['has a zero character', { description: 'a\0b' }],
    ['has one in its details', { details: { text: 'a\0b' } }],
    ['has an id of another kind', { id: 'trf_nonsense' as const }],
  ])('because it %s is never sent', async (_, wrong) => {
    expect(() => ledger.post({ ...transfer(1n, 2n, 100n), ...wrong })).toThrow(TypeError);
  });
});

it('leaves a ledger that adds up', async () => {
  const { problems, entries } = await verifyLedger(db);
  expect(problems).toEqual([]);
  expect(entries).toBeGreaterThan(50n);
});

async function twoFunded(atomic: bigint) {
  const [ada, bob] = await createOwners(db, 2);
  if (ada === undefined || bob === undefined) throw new Error('no owners');
  if (atomic > 0n) await fund(ledger, [ada, bob], atomic);
  return [ada, bob] as const;
}
