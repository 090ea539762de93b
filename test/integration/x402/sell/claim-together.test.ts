import { createHash, randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Queryable, Transaction } from '../../../../src/kernel/db/database.ts';
import { useDatabase } from '../../../support/database.ts';

const { db } = useDatabase();

const token = `0x${'ab'.repeat(20)}`;
const hex = (seed: string, bytes: number) =>
  `0x${createHash('shake256', { outputLength: bytes }).update(seed).digest('hex')}`;
const addressOf = (payer: number) => hex(`payer ${payer}`, 20);
const ourWallet = 0;

/** A payment that wants to be claimed. Everything is a small number, so that payments meet each other. */
interface Wanted {
  readonly payer: number;
  readonly nonce: number;
  readonly atomic: number;
  readonly identifier: number | null;
  readonly request: number;
  readonly elsewhere: boolean;
  readonly clears: boolean;
  readonly mostCredit: number;
  readonly funds: number;
}

/** What a payer did before. */
interface Past {
  readonly payer: number;
  readonly arrivals: number;
  readonly debt: number;
  readonly failed: boolean;
  readonly payments: readonly {
    readonly nonce: number;
    readonly identifier: number | null;
    readonly state: 'leased' | 'left' | 'served' | 'prepaid' | 'arrived' | 'lapsed';
  }[];
}

interface Outcome {
  readonly outcome: string;
  readonly claimId: string | null;
}

const leaseSeconds = 15;

/** The arguments of `claim_payment`, in order. */
function argumentsOf(wanted: Wanted, id: string, holder: string): unknown[] {
  const payer = addressOf(wanted.payer);
  const nonce = hex(`nonce ${wanted.nonce}`, 32);
  const identifier = wanted.identifier === null ? null : `identifier-${wanted.identifier}`;
  const fingerprint = createHash('sha256').update(`${wanted.request}`).digest();
  const { atomic, elsewhere, mostCredit, funds, clears } = wanted;
  return [
    ...[id, 'x402', 'MATIC', token, 'USDC', payer, payer, nonce, hex('us', 20), atomic, 0, 9_999_999_999],
    ...[hex('signature', 65), 'nanoQuote', fingerprint, identifier, elsewhere, holder, leaseSeconds],
    ...[mostCredit, funds, 0, clears],
  ];
}

const leaseAt = 18;
const places = (count: number) => Array.from({ length: count }, (_, index) => `$${index + 1}`).join(', ');

async function claimOneByOne(tx: Queryable, all: readonly unknown[][]): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const one of all) {
    const { rows } = await tx.query<Outcome & Record<string, unknown>>(
      `SELECT outcome, claim_id FROM claim_payment(${places(one.length)})`,
      one,
    );
    outcomes.push(...rows);
  }
  return outcomes;
}

async function claimTogether(tx: Queryable, all: readonly unknown[][]): Promise<Outcome[]> {
  const columns = (all[0] ?? []).map((_, column) =>
    column === leaseAt ? leaseSeconds : all.map((one) => one[column]),
  );
  const { rows } = await tx.query<Outcome & Record<string, unknown>>(
    `SELECT outcome, claim_id FROM claim_payments(${places(columns.length)})`,
    columns,
  );
  return rows;
}

async function live(tx: Transaction, past: readonly Past[]): Promise<void> {
  await tx.query(
    `INSERT INTO house_wallets (id, chain, purpose, address, provider, provider_ref)
     SELECT 'hw_test', 'MATIC', 'treasury', $1, 'keys', 'test' WHERE NOT EXISTS (SELECT FROM house_wallets)`,
    [addressOf(ourWallet)],
  );
  for (const { payer, arrivals, debt, failed, payments } of past) {
    await tx.query(
      'INSERT INTO payers (chain, token, address, arrivals, debt) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING',
      ['MATIC', token, addressOf(payer), arrivals, debt],
    );
    for (const [index, { nonce, identifier, state }] of payments.entries()) {
      await tx.query(
        `INSERT INTO payment_claims (id, protocol, chain, token, asset, payer, nonce, pay_to, atomic, valid_after,
            valid_before, signature, resource, fingerprint, identifier, prepaid, holder, leased_until, served_at,
            arrived_at, arrival_account, lapsed_at)
         SELECT $1, 'x402', 'MATIC', $2, 'USDC', $3, $4, $5, 100, 0, 9999999999, $6, 'nanoQuote', $7, $8,
            $9 = 'prepaid',
            '00000000-0000-0000-0000-000000000000', CASE $9
              WHEN 'leased' THEN now() + interval '1 hour' WHEN 'left' THEN now() - interval '1 hour' END,
            CASE WHEN $9 = 'served' THEN now() END, CASE WHEN $9 = 'arrived' THEN now() END,
            CASE WHEN $9 = 'arrived' THEN 1 END, CASE WHEN $9 = 'lapsed' THEN now() END
         ON CONFLICT DO NOTHING`,
        [
          ...[`npy_past_${payer}_${index}`, token, addressOf(payer), hex(`nonce ${nonce}`, 32), hex('us', 20)],
          ...[hex('signature', 65), createHash('sha256').update('0').digest()],
          ...[identifier === null ? null : `identifier-${identifier}`, state],
        ],
      );
    }
    if (failed) await tx.query('UPDATE payers SET failed_since = now() WHERE address = $1', [addressOf(payer)]);
  }
}

/** Everything about payers and payments, without times. */
async function story(tx: Queryable) {
  const payers = await tx.query(
    `SELECT address, credit, prepaying, open_calls, settled, arrivals, debt, failed_since IS NULL AS trusted
       FROM payers ORDER BY address`,
  );
  const claims = await tx.query(
    `SELECT to_jsonb(c) - '{leased_until,claimed_at,served_at,arrived_at,lapsed_at}'::text[] AS claim,
            leased_until > now() AS leased, served_at IS NULL AS unserved
       FROM payment_claims c ORDER BY id`,
  );
  return { payers: payers.rows, claims: claims.rows };
}

/** Runs in a transaction that is rolled back. */
async function rehearse<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result> {
  let result: Result | undefined;
  const undo = new Error('undo');
  await db
    .transaction(async (tx) => {
      result = await work(tx);
      throw undo;
    })
    .catch((error: unknown) => {
      if (error !== undo) throw error;
    });
  return result as Result;
}

async function compare(past: readonly Past[], wanted: readonly Wanted[]): Promise<readonly string[]> {
  const all = wanted.map((one, index) => argumentsOf(one, `npy_new_${index}`, randomUUID()));
  const by = (claim: typeof claimTogether) =>
    rehearse(async (tx) => {
      await live(tx, past);
      return { outcomes: await claim(tx, all), ...(await story(tx)) };
    });
  const together = await by(claimTogether);
  expect(together).toEqual(await by(claimOneByOne));
  return together.outcomes.map(({ outcome }) => outcome);
}

const usual: Wanted = {
  payer: 1,
  nonce: 1,
  atomic: 100,
  identifier: null,
  request: 0,
  elsewhere: false,
  clears: false,
  mostCredit: 1_000,
  funds: 1_000,
};
const nothing = { arrivals: 0, debt: 0, failed: false, payments: [] } as const;

describe('payments that are claimed together', () => {
  test('have the outcomes that they have one after the other, whatever the outcome is', async () => {
    const past: Past[] = [
      { ...nothing, payer: 2, payments: [{ nonce: 1, identifier: 1, state: 'served' }] },
      { ...nothing, payer: 3, debt: 100 },
      { ...nothing, payer: 4, failed: true, payments: [{ nonce: 9, identifier: null, state: 'served' }] },
      { ...nothing, payer: 5, payments: [{ nonce: 1, identifier: null, state: 'left' }] },
    ];
    const outcomes = await compare(past, [
      { ...usual, payer: ourWallet },
      { ...usual, nonce: 1 },
      { ...usual, nonce: 2, mostCredit: 150 },
      { ...usual, nonce: 3, funds: 250 },
      { ...usual, nonce: 4, funds: 300 },
      { ...usual, payer: 2 },
      { ...usual, payer: 2, nonce: 2, identifier: 1 },
      { ...usual, payer: 2, nonce: 3 },
      { ...usual, payer: 3, nonce: 1 },
      { ...usual, payer: 3, nonce: 2, clears: true },
      { ...usual, payer: 3, nonce: 3, clears: true },
      { ...usual, payer: 4 },
      { ...usual, payer: 5 },
      { ...usual, payer: 6, nonce: 1, elsewhere: true },
    ]);
    expect(outcomes).toEqual([
      ...['ours', 'claimed', 'prepaid', 'short', 'claimed', 'known', 'identifier_taken', 'claimed'],
      ...['in_debt', 'prepaid', 'not_owed', 'in_debt', 'claimed', 'claimed'],
    ]);
  });

  test('have them in any mixture', async () => {
    const often = (weight: number, value: boolean) =>
      fc.oneof({ weight, arbitrary: fc.constant(value) }, { weight: 1, arbitrary: fc.boolean() });
    const identifier = fc.option(fc.integer({ min: 1, max: 3 }), { freq: 2 });
    const past = fc.uniqueArray(
      fc.record<Past>({
        payer: fc.integer({ min: 1, max: 4 }),
        arrivals: fc.integer({ min: 0, max: 2 }),
        debt: fc.constantFrom(0, 0, 0, 100, 200),
        failed: often(4, false),
        payments: fc.uniqueArray(
          fc.record({
            nonce: fc.integer({ min: 1, max: 14 }),
            identifier,
            state: fc.constantFrom('leased', 'left', 'served', 'prepaid', 'arrived', 'lapsed'),
          }),
          { maxLength: 12, selector: ({ nonce }) => nonce },
        ),
      }),
      { maxLength: 4, selector: ({ payer }) => payer },
    );
    const wanted = fc.array(
      fc.record<Wanted>({
        payer: fc.integer({ min: 0, max: 4 }),
        nonce: fc.integer({ min: 1, max: 40 }),
        atomic: fc.constantFrom(50, 100, 200),
        identifier,
        request: fc.integer({ min: 0, max: 1 }),
        elsewhere: often(6, false),
        clears: often(8, false),
        mostCredit: fc.constantFrom(0, 300, 1_000_000),
        funds: fc.constantFrom(0, 500, 1_500, 1_000_000),
      }),
      { minLength: 1, maxLength: 40 },
    );
    await fc.assert(
      fc.asyncProperty(past, wanted, async (before, now) => {
        await compare(before, now);
      }),
      { numRuns: 60 },
    );
  });

  test('in two batches at once are claimed once each, and no batch waits for ever', async () => {
    for (let round = 0; round < 10; round++) {
      // Payers whom nobody knows yet, and payers of earlier rounds, in orders that would deadlock.
      const wanted = Array.from({ length: 40 }, (_, index) => ({
        ...usual,
        payer: 100 + (index % 2) * (10 * round) + (index % 8),
        nonce: 1_000 * round + index,
        funds: 1_000_000,
        mostCredit: 1_000_000,
      }));
      const orders = [wanted, wanted.toReversed(), wanted.toSorted((a, b) => (a.nonce % 7) - (b.nonce % 7))];
      const outcomes = await Promise.all(
        orders.map(async (order, batch) => {
          const all = order.map((one) => argumentsOf(one, `npy_${batch}_${one.nonce}`, randomUUID()));
          const answers = await claimTogether(db, all);
          return answers.map((answer, index) => ({ ...answer, nonce: order[index]?.nonce }));
        }),
      );
      for (const { nonce } of wanted) {
        const answers = outcomes.flat().filter((answer) => answer.nonce === nonce);
        const winners = answers.filter(({ outcome }) => outcome !== 'known');
        expect(winners).toHaveLength(1);
        expect(new Set(answers.map(({ claimId }) => claimId)).size).toBe(1);
      }
    }
    const { rows } = await db.query(
      `SELECT p.address FROM payers p JOIN payment_claims c ON c.payer = p.address
        GROUP BY p.chain, p.token, p.address
       HAVING p.credit <> coalesce(sum(c.atomic) FILTER (WHERE NOT c.prepaid), 0)
           OR p.prepaying <> coalesce(sum(c.atomic) FILTER (WHERE c.prepaid), 0)
           OR p.open_calls <> count(*) FILTER (WHERE NOT c.prepaid)`,
    );
    expect(rows).toEqual([]);
  });
});
