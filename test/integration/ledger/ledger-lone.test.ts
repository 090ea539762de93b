import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { onlyRow } from '../../../src/kernel/db/database.ts';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { type PostCall, type PostRow, postBatch } from '../../../src/ledger/post-batch.ts';
import { type Posting, toPostingId } from '../../../src/ledger/posting.ts';
import { verifyLedger } from '../../../src/ledger/verify.ts';
import { amountOf } from '../../../src/money/amount.ts';
import { createBudget } from '../../support/budgets.ts';
import { useDatabase } from '../../support/database.ts';
import { createOwners, fund, scope, transfer } from '../../support/ledger.ts';

const { db } = useDatabase();
const ledger = createLedger({ db, logger: createLogger('silent') });

/** The account of the fees exists from the first fee on. */
beforeAll(async () => {
  const [ada, bob] = (await createOwners(db, 2)) as [Owner, Owner];
  await fund(ledger, [ada], 1_000n);
  await postBy('in a batch', transfer(ada.id, bob.id, 500n));
});
afterAll(() => ledger.stop());

type Way = 'alone' | 'in a batch';

/** Posts with the function for a lone posting, or with the one for batches. */
async function postBy(way: Way, posting: Posting): Promise<{ outcome: string; calls: string[] }> {
  const calls: string[] = [];
  const run = async ({ name, text }: PostCall, values: (string | null)[]) => {
    calls.push(name);
    return onlyRow(await db.query<PostRow>(text, values));
  };
  const { outcomes } = await postBatch(run, [posting], {
    isKnown: () => way === 'alone',
    isStored: () => false,
    slot: 0,
  });
  return { outcome: (outcomes[0] as { outcome: string }).outcome, calls };
}

type Owner = { readonly id: bigint; readonly keyId: string };
type Owners = readonly Owner[];

/** Three people with money, and one that listens to events. */
async function openWorld(): Promise<Owners> {
  const owners = await createOwners(db, 3);
  await fund(ledger, owners, 1_000n);
  await db.query(
    `INSERT INTO ledger.event_subscriptions (account_id, type) VALUES ($1, 'payment.sent'), ($1, 'payment.received')`,
    [owners[0]?.id],
  );
  return owners;
}

/** Everything that was written about these people, with names instead of ids and without times. */
async function story(owners: Owners): Promise<unknown> {
  const ids = owners.map(({ id }) => id);
  const place = (column: string) => `array_position($1::bigint[], ${column})`;
  const { rows: postings } = await db.query(
    `SELECT ${place('p.sender_id')} AS sender, ${place('p.recipient_id')} AS recipient, p.type, p.asset, p.amount, p.fee, p.description,
            p.reference, p.details, (SELECT count(*) FROM ledger.idempotency_keys k WHERE k.posting_id = p.id) AS keys,
            (SELECT jsonb_agg(jsonb_build_array(${place('e.account_id >> 14')}, e.amount,
                CASE WHEN e.account_id >> 14 = ANY ($1) THEN e.balance_after END) ORDER BY e.account_id < 16384, e.amount)
               FROM ledger.entries e WHERE e.posting_id = p.id AND e.posted_at = p.posted_at) AS entries,
            (SELECT jsonb_agg(jsonb_build_array(${place('v.account_id')}, v.type, v.created_at = p.posted_at) ORDER BY v.type)
               FROM ledger.events v WHERE v.posting_id = p.id) AS events
       FROM ledger.postings p WHERE p.type = 'transfer' AND p.sender_id = ANY ($1) ORDER BY p.posted_at`,
    [ids],
  );
  const { rows: balances } = await db.query(
    `SELECT ${place('owner_id')} AS owner, balance, posted_at = (
        SELECT max(e.posted_at) + interval '1 microsecond' FROM ledger.entries e WHERE e.account_id = a.id) AS timed
       FROM ledger.accounts a WHERE owner_id = ANY ($1) ORDER BY 1`,
    [ids],
  );
  return { postings, balances };
}

const someone = fc.nat({ max: 2 });
const payment = fc.record({
  from: someone,
  to: someone,
  amount: fc.constantFrom(1n, 40n, 300n, 900n, 2_000n),
  fee: fc.constantFrom(0n, 1n),
  description: fc.option(fc.constantFrom('lunch', '"{\\'), { nil: undefined }),
  key: fc.option(fc.record({ name: fc.constantFrom('k1', 'k2'), request: fc.constantFrom('r1', 'r2') }), {
    nil: undefined,
  }),
  withKey: fc.boolean(),
  /** The number of policies that it was judged by. */
  stamp: fc.option(fc.constantFrom(0n, 1n), { nil: undefined }),
  /** Guarded, and then against all or all but the last one. */
  guard: fc.option(fc.constantFrom('all', 'all but the last'), { nil: undefined }),
});
const step = fc.oneof(
  { weight: 12, arbitrary: payment.map((one) => ({ kind: 'pay' as const, ...one })) },
  { weight: 1, arbitrary: someone.map((who) => ({ kind: 'freeze' as const, who })) },
  { weight: 1, arbitrary: someone.map((who) => ({ kind: 'unfreeze' as const, who })) },
  { weight: 1, arbitrary: someone.map((who) => ({ kind: 'revoke' as const, who })) },
  { weight: 1, arbitrary: someone.map((who) => ({ kind: 'expire' as const, who })) },
  { weight: 1, arbitrary: someone.map((who) => ({ kind: 'close' as const, who })) },
  { weight: 1, arbitrary: someone.map((who) => ({ kind: 'policy' as const, who })) },
);
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;

const changes = {
  freeze: 'UPDATE accounts SET frozen_at = now() WHERE id = $1',
  unfreeze: 'UPDATE accounts SET frozen_at = NULL WHERE id = $1',
  revoke: 'UPDATE api_keys SET revoked_at = now() WHERE account_id = $1',
  expire: `UPDATE api_keys SET expires_at = now() - interval '1 minute' WHERE account_id = $1`,
  close: `UPDATE accounts SET email = NULL, password_hash = '', closed_at = now() WHERE id = $1`,
  policy: 'INSERT INTO key_stamps VALUES ($1, 1) ON CONFLICT DO NOTHING',
} as const;

/** What a step comes to in this world. */
async function take(owners: Owners, way: Way, one: Step): Promise<string> {
  if (one.kind !== 'pay') {
    await db.query(changes[one.kind], [owners[one.who]?.id]);
    return one.kind;
  }
  const [from, to] = [owners[one.from], owners[(one.from === one.to ? one.from + 1 : one.to) % 3]];
  if (from === undefined || to === undefined) throw new Error('nobody');
  const posting = transfer(from.id, to.id, one.amount, {
    fee: amountOf('USDC', one.amount > one.fee ? one.fee : 0n),
    senderEvent: 'payment.sent',
    recipientEvent: 'payment.received',
    description: one.description,
    ...(one.withKey && { keyId: from.keyId }),
    ...(one.stamp !== undefined && { authority: { stamp: one.stamp, spends: [] } }),
    ...(one.guard !== undefined && {
      guard: { notDuplicateOf: one.guard === 'all' ? undefined : await newestPosting(from.id) },
    }),
    ...(one.key !== undefined && { idempotency: scope(from.id, one.key.name, one.key.request) }),
  });
  return (await postBy(way, posting)).outcome;
}

async function newestPosting(sender: bigint): Promise<string | undefined> {
  const { rows } = await db.query<{ id: string }>(
    'SELECT id FROM ledger.postings WHERE sender_id = $1 ORDER BY posted_at DESC LIMIT 1',
    [sender],
  );
  return rows[0] && toPostingId(rows[0].id);
}

const pay = (one: Partial<Extract<Step, { kind: 'pay' }>>): Step => ({
  kind: 'pay',
  from: 0,
  to: 1,
  amount: 40n,
  fee: 1n,
  description: undefined,
  key: undefined,
  withKey: true,
  stamp: undefined,
  guard: undefined,
  ...one,
});
/** Whatever is generated beside it: one sequence that meets them all. */
const everyOutcome: Step[] = [
  pay({ key: { name: 'k1', request: 'r1' } }),
  pay({ key: { name: 'k1', request: 'r1' } }),
  pay({ key: { name: 'k1', request: 'r2' } }),
  pay({ guard: 'all' }),
  pay({ guard: 'all but the last' }),
  pay({ amount: 2_000n }),
  { kind: 'freeze', who: 0 },
  pay({}),
  { kind: 'unfreeze', who: 0 },
  { kind: 'policy', who: 0 },
  pay({}),
  pay({ stamp: 1n }),
  { kind: 'close', who: 1 },
  pay({}),
  { kind: 'revoke', who: 0 },
  pay({ to: 2, key: { name: 'k1', request: 'r1' } }),
];

it('posts alone exactly what a batch of one posts, whatever happened before', async () => {
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
      const [ours, theirs] = [await openWorld(), await openWorld()];
      for (const one of steps) {
        const outcome = await take(ours, 'alone', one);
        expect(outcome).toBe(await take(theirs, 'in a batch', one));
        seen.add(outcome);
      }
      expect(await story(ours)).toEqual(await story(theirs));
    }),
    { numRuns: 40, examples: [[everyOutcome]] },
  );
  for (const outcome of [
    'posted',
    'duplicate',
    'insufficient_balance',
    'frozen_account',
    'key_revoked',
    'mismatch',
    'unknown_account',
    'stale',
    'possible_duplicate',
  ]) {
    expect(seen).toContain(outcome);
  }
  expect((await verifyLedger(db)).problems).toEqual([]);
});

it('is not asked for what only a batch can take', async () => {
  const [ada, bob] = (await openWorld()) as [Owner, Owner];
  const callsFor = async (options: Partial<Posting>) =>
    (await postBy('alone', transfer(ada.id, bob.id, 10n, options))).calls;
  expect(await callsFor({})).toEqual(['ledger.post_one']);
  expect(await callsFor({ reference: `order:${ada.id}` })).toEqual(['ledger.post']);
  expect(await callsFor({ details: { why: 'so' } })).toEqual(['ledger.post']);
  const budget = await createBudget(db, ada, { most: 10n });
  expect(await callsFor({ authority: { stamp: 0n, spends: [{ budget, amount: 10n }] } })).toEqual(['ledger.post']);
  expect((await postBy('in a batch', transfer(ada.id, bob.id, 10n))).calls).toEqual(['ledger.post']);
});

it('finds that an account is missing, as a batch does', async () => {
  const [ada] = (await openWorld()) as [Owner];
  const missing = 2n ** 37n;
  expect((await postBy('alone', transfer(ada.id, missing, 10n))).outcome).toBe('unknown_account');
  expect((await postBy('in a batch', transfer(ada.id, missing, 10n))).outcome).toBe('unknown_account');
});
