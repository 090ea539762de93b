import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { openDatabase } from '../../src/kernel/db/database.ts';
import { createLogger } from '../../src/kernel/log/logger.ts';
import { type AccountId, heldAccount, houseAccount, userAccount } from '../../src/ledger/account-id.ts';
import { createLedger } from '../../src/ledger/ledger.ts';
import type { Posting, PostingId } from '../../src/ledger/posting.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import { amountOf } from '../../src/money/amount.ts';
import type { Asset } from '../../src/money/catalogue.ts';
import { useDatabase } from '../support/database.ts';
import { createOwners, deposit, scope, transfer } from '../support/ledger.ts';
import { isMatrix } from '../support/matrix.ts';
import { LedgerModel } from './ledger-model.ts';

const { db, url } = useDatabase();
const logger = createLogger('silent');
const ledger = createLedger({ db, logger });
const otherDb = openDatabase({ url, poolSize: 3, logger });
const other = createLedger({ db: otherDb, logger });
afterAll(async () => {
  await ledger.stop();
  await other.stop();
  await otherDb.close();
});

const people = 5;
/** One more than there are people: the last one does not exist. */
const person = fc.integer({ min: 0, max: people });
const asset = fc.constantFrom('USDC' as const, 'EURC' as const, 'ETH' as const);
const atomic = fc.oneof(fc.bigInt({ min: 1n, max: 500n }), fc.bigInt({ min: 1n, max: 10n ** 22n }));

const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('deposit' as const), to: person, asset, atomic, log: fc.nat(30) }),
  },
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant('transfer' as const),
      from: person,
      to: person,
      asset,
      atomic,
      feePercent: fc.constantFrom(0n, 1n, 50n),
      key: fc.option(fc.nat(4), { nil: undefined }),
      withApiKey: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('hold' as const), from: person, asset, atomic }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('release' as const), to: person, asset, atomic }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('swap' as const), who: person, atomic, out: atomic }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('burn' as const), from: person, asset, atomic }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('mint' as const), to: person, asset, atomic }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('order' as const), from: person, asset, atomic }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('capture' as const), from: person, asset, atomic, fee: atomic }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

const trialPart = fc.record({
  kind: fc.constantFrom('custody' as const, 'receivables' as const, 'equity' as const),
  chain: fc.constantFrom('MATIC' as const, 'BASE' as const),
  asset: fc.constantFrom('USDC' as const, 'EURC' as const),
  atomic: fc.constantFrom(-1n, 1n),
});
type TrialPart = typeof trialPart extends fc.Arbitrary<infer Value> ? Value : never;
/** A few entries, each account once. With so few accounts and amounts, all ways to balance and not to come up. */
const trial = fc.uniqueArray(trialPart, {
  minLength: 2,
  maxLength: 4,
  selector: ({ kind, chain, asset: of }: TrialPart) => houseAccount(kind, of, chain),
});

const change = fc.record({ do: fc.constantFrom('freeze', 'unfreeze', 'revoke'), who: fc.nat(people - 1) });
const batch = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: 25 }),
  change: fc.option(change, { nil: undefined }),
});

interface World {
  readonly run: string;
  readonly owners: readonly { readonly id: bigint; readonly keyId: string }[];
}

function toPosting({ run, owners }: World, wish: Step): Posting | undefined {
  const idOf = (index: number) => owners[index]?.id ?? 888_888_888n;
  if (wish.do === 'deposit') {
    return deposit(idOf(wish.to), wish.atomic, `deposit:${run}:${wish.log}`, wish.asset);
  }
  if (wish.do === 'transfer') {
    if (wish.from === wish.to) return undefined;
    const from = idOf(wish.from);
    const fee = (wish.atomic * wish.feePercent) / 100n;
    const keyId = owners[wish.from]?.keyId;
    return transfer(from, idOf(wish.to), wish.atomic, {
      amount: amountOf(wish.asset, wish.atomic),
      fee: amountOf(wish.asset, fee),
      ...(wish.key === undefined
        ? {}
        : { idempotency: scope(from, `${run} ${wish.key}`, `${wish.to} ${wish.atomic % 2n}`) }),
      ...(wish.withApiKey && keyId !== undefined ? { keyId } : {}),
    });
  }
  const { type, entries } = plainEntries(wish, idOf);
  return { type, amount: amountOf(wish.do === 'swap' ? 'USDC' : wish.asset, wish.atomic), entries };
}

function plainEntries(wish: Exclude<Step, { do: 'deposit' | 'transfer' }>, idOf: (index: number) => bigint) {
  if (wish.do === 'swap') {
    return {
      type: 'swap',
      entries: [
        { account: userAccount(idOf(wish.who), 'USDC'), atomic: -wish.atomic },
        { account: houseAccount('custody', 'USDC'), atomic: wish.atomic },
        { account: houseAccount('custody', 'ETH'), atomic: -wish.out },
        { account: userAccount(idOf(wish.who), 'ETH'), atomic: wish.out },
      ],
    };
  }
  if (wish.do === 'burn') return burn(idOf(wish.from), wish.asset, wish.atomic);
  if (wish.do === 'mint') return mint(idOf(wish.to), wish.asset, wish.atomic);
  if (wish.do === 'order') {
    return {
      type: 'order_held',
      entries: [
        { account: userAccount(idOf(wish.from), wish.asset), atomic: -wish.atomic },
        { account: heldAccount(idOf(wish.from), wish.asset), atomic: wish.atomic },
      ],
    };
  }
  if (wish.do === 'capture') {
    return {
      type: 'order_captured',
      entries: [
        { account: heldAccount(idOf(wish.from), wish.asset), atomic: -wish.atomic - wish.fee },
        { account: houseAccount('merchants', wish.asset), atomic: wish.atomic },
        { account: houseAccount('fees', wish.asset), atomic: wish.fee },
      ],
    };
  }
  const held = houseAccount('withdrawals_in_transit', wish.asset);
  const user = userAccount(idOf(wish.do === 'hold' ? wish.from : wish.to), wish.asset);
  const towardsUs = wish.do === 'hold' ? wish.atomic : -wish.atomic;
  return {
    type: wish.do,
    entries: [
      { account: user, atomic: -towardsUs },
      { account: held, atomic: towardsUs },
    ],
  };
}

/** Gone from one chain, and to arrive on the other: each of the two balances by itself. */
function burn(from: bigint, asset: Asset, atomic: bigint) {
  return {
    type: 'bridge_burned',
    entries: [
      { account: userAccount(from, asset), atomic: -atomic },
      { account: houseAccount('custody', asset), atomic },
      { account: houseAccount('receivables', asset, 'BASE'), atomic: -atomic },
      { account: houseAccount('bridges_in_transit', asset, 'BASE'), atomic },
    ],
  };
}

function mint(to: bigint, asset: Asset, atomic: bigint) {
  return {
    type: 'bridge_minted',
    entries: [
      { account: houseAccount('bridges_in_transit', asset, 'BASE'), atomic: -atomic },
      { account: userAccount(to, asset, 'BASE'), atomic },
      { account: houseAccount('custody', asset, 'BASE'), atomic: -atomic },
      { account: houseAccount('receivables', asset, 'BASE'), atomic },
    ],
  };
}

async function apply({ owners }: World, model: LedgerModel, wish: { do: string; who: number }): Promise<void> {
  const owner = owners[wish.who];
  if (owner === undefined) return;
  if (wish.do === 'revoke') {
    model.revoked.add(owner.keyId);
    await db.query('UPDATE api_keys SET revoked_at = now() WHERE id = $1', [owner.keyId]);
    return;
  }
  if (wish.do === 'freeze') model.frozen.add(owner.id);
  else model.frozen.delete(owner.id);
  await db.query('UPDATE accounts SET frozen_at = $2 WHERE id = $1', [
    owner.id,
    wish.do === 'freeze' ? new Date() : null,
  ]);
}

async function realBalances(): Promise<Map<AccountId, bigint>> {
  const { rows } = await db.query<{ id: bigint; balance: bigint }>(
    // The slots of an account are one.
    'SELECT CASE WHEN id < 0 THEN id & 16383 ELSE id END AS id, sum(balance) AS balance FROM ledger.accounts GROUP BY 1',
  );
  return new Map(rows.map(({ id, balance }) => [Number(id) as AccountId, balance]));
}

/** A call of the posting function holds every key and reference once; the batcher sees to it, and here we do. */
function splitRepeats(postings: readonly Posting[]): Posting[][] {
  const calls: Posting[][] = [[]];
  let seen = new Set<string>();
  for (const posting of postings) {
    const marks = [
      posting.idempotency && `${posting.idempotency.accountId} ${posting.idempotency.key}`,
      posting.reference,
    ];
    const taken = marks.filter((mark) => mark !== undefined);
    if (taken.some((mark) => seen.has(mark))) {
      calls.push([]);
      seen = new Set();
    }
    for (const mark of taken) seen.add(mark);
    calls.at(-1)?.push(posting);
  }
  return calls;
}

describe('the ledger and a model of it', () => {
  it('give the same outcomes and balances for any sequence of batches', { tags: ['longer'] }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(batch, { minLength: 1, maxLength: 8 }), async (batches) => {
        const world: World = { run: randomUUID(), owners: await createOwners(db, people) };
        const model = new LedgerModel(world.owners.map(({ id }) => id));
        for (const [account, balance] of await realBalances()) model.balances.set(account, balance);
        const ids = new Map<number, PostingId>();

        for (const { steps, change: wish } of batches) {
          if (wish !== undefined) await apply(world, model, wish);
          const postings = steps.flatMap((wished) => toPosting(world, wished) ?? []);
          for (const call of splitRepeats(postings)) {
            if (call.length === 0) continue;
            const outcomes = await db.transaction((tx) => ledger.postWithin(tx, call));
            for (const [index, posting] of call.entries()) {
              const expected = model.post(posting);
              const real = outcomes[index];
              expect(real?.outcome).toBe(expected.outcome);
              if (real === undefined || !('posting' in real) || expected.posting === undefined) continue;
              if (real.outcome === 'posted') ids.set(expected.posting, real.posting.id);
              else expect(real.posting.id).toBe(ids.get(expected.posting));
            }
          }
        }
        const real = await realBalances();
        for (const [account, balance] of model.balances) expect(real.get(account) ?? 0n).toBe(balance);
        expect(new Set(sumsBy(real, pairMask))).toEqual(new Set([0n]));
      }),
      { numRuns: isMatrix ? 60 : 20 },
    );
    expect((await verifyLedger(db)).problems).toEqual([]);
  });

  it('take what balances on every chain by itself, and nothing else', async () => {
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(trial, async (parts) => {
        const entries = parts.map(({ kind, chain, asset: of, atomic: by }) => ({
          account: houseAccount(kind, of, chain),
          atomic: by,
        }));
        const posting: Posting = { type: 'trial', amount: amountOf('USDC', 1n), entries };
        if (isBalanced(entries, pairMask)) {
          seen.add('balanced');
          expect(await ledger.post(posting)).toMatchObject({ outcome: 'posted' });
          return;
        }
        seen.add(isBalanced(entries, assetMask) ? 'balanced across chains alone' : 'unbalanced');
        expect(() => ledger.post(posting)).toThrow(TypeError);
        const inDatabase = db.query(
          `INSERT INTO ledger.entry_rows (account_id, posted_at, posting_id, amount, balance_after)
           SELECT account, now(), $3, amount, amount FROM unnest($1::bigint[], $2::numeric[]) e (account, amount)`,
          [entries.map(({ account }) => account), entries.map((entry) => entry.atomic), randomUUID()],
        );
        await expect(inDatabase).rejects.toMatchObject({ code: '23514' });
      }),
      // One in twenty-five is balanced: that none of so many is happens once in a million times.
      { numRuns: 350 },
    );
    expect([...seen].sort()).toEqual(['balanced', 'balanced across chains alone', 'unbalanced']);
    expect((await verifyLedger(db)).problems).toEqual([]);
  });

  it('agree when everything is asked at once, twice, of two batchers: what was answered is what is there', {
    tags: ['longer'],
  }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 60 }), async (steps) => {
        const world: World = { run: randomUUID(), owners: await createOwners(db, people) };
        const before = await realBalances();
        const asked = steps.flatMap((wished) => toPosting(world, wished) ?? []);
        const twice = [...asked, ...asked.filter(({ idempotency, reference }) => idempotency ?? reference)];
        const outcomes = await Promise.all(
          twice.map((posting, index) => (index % 2 === 0 ? ledger : other).post(posting)),
        );

        const expected = new Map(before);
        const firstOf = new Map<string, PostingId>();
        for (const [index, posting] of twice.entries()) {
          const outcome = outcomes[index];
          if (outcome?.outcome !== 'posted') continue;
          for (const { account, atomic } of posting.entries)
            expected.set(account, (expected.get(account) ?? 0n) + atomic);
          for (const mark of marksOf(posting)) {
            expect(firstOf.has(mark)).toBe(false);
            firstOf.set(mark, outcome.posting.id);
          }
        }
        for (const [index, posting] of twice.entries()) {
          const outcome = outcomes[index];
          if (outcome?.outcome !== 'duplicate') continue;
          expect(marksOf(posting).map((mark) => firstOf.get(mark))).toContain(outcome.posting.id);
        }
        const real = await realBalances();
        for (const [account, balance] of expected) expect(real.get(account) ?? 0n).toBe(balance);
      }),
      // Enough that far more than a hundred are accepted, whatever is generated.
      { numRuns: isMatrix ? 40 : 30 },
    );
    const { problems, postings } = await verifyLedger(db);
    expect(problems).toEqual([]);
    expect(postings).toBeGreaterThan(100n);
  });

  it('do not change when everything that succeeded is sent again', async () => {
    const owners = await createOwners(db, people);
    const world: World = { run: randomUUID(), owners };
    const wishes = fc.sample(step, 200).flatMap((wished) => toPosting(world, wished) ?? []);
    const keyed = wishes.map((posting, index) =>
      posting.reference === undefined
        ? { ...posting, idempotency: scope(owners[0]?.id ?? 0n, `${world.run} ${index}`) }
        : posting,
    );
    const first = await Promise.all(keyed.map((posting) => ledger.post(posting)));
    const before = await realBalances();
    const { postings } = await verifyLedger(db);
    const succeeded = keyed.filter((_, index) => 'posting' in (first[index] ?? {}));
    const again = await Promise.all(succeeded.map((posting) => other.post(posting)));
    expect(new Set(again.map(({ outcome }) => outcome))).toEqual(new Set(['duplicate']));
    expect(again.map((outcome) => 'posting' in outcome && outcome.posting)).toEqual(
      first.flatMap((outcome) => ('posting' in outcome ? [outcome.posting] : [])),
    );
    expect(await realBalances()).toEqual(before);
    expect((await verifyLedger(db)).postings).toBe(postings);
  });
});

function marksOf({ idempotency, reference }: Posting): string[] {
  const key = idempotency && `${idempotency.accountId} ${idempotency.key}`;
  return [key, reference].filter((mark) => mark !== undefined);
}

/** Chain and asset of an account, and its asset alone. */
const pairMask = 255;
const assetMask = 15;

function sumsBy(entries: Iterable<readonly [AccountId, bigint]>, mask: number): bigint[] {
  const sums = new Map<number, bigint>();
  for (const [account, by] of entries) sums.set(account & mask, (sums.get(account & mask) ?? 0n) + by);
  return [...sums.values()];
}

function isBalanced(entries: Posting['entries'], mask: number): boolean {
  const pairs = entries.map(({ account, atomic: by }) => [account, by] as const);
  return sumsBy(pairs, mask).every((sum) => sum === 0n);
}
