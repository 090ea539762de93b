import { randomBytes } from 'node:crypto';
import type { Hex } from 'viem';
import { afterAll, expect, test } from 'vitest';
import { createLogger } from '../../../../src/kernel/log/logger.ts';
import { createLedger } from '../../../../src/ledger/ledger.ts';
import { amountOf } from '../../../../src/money/amount.ts';
import { createClaimer, type NewClaim } from '../../../../src/x402/sell/claim-payments.ts';
import { createCallServer } from '../../../../src/x402/sell/serve-calls.ts';
import { forgetAnswers } from '../../../../src/x402/sell/settle-payments.ts';
import { useDatabase } from '../../../support/database.ts';

const { db } = useDatabase();
const ledger = createLedger({ db, logger: createLogger('silent') });
afterAll(() => ledger.stop());

const hex = (bytes: number): Hex => `0x${randomBytes(bytes).toString('hex')}`;
const token = hex(20);

function newClaims(payerCount: number, count: number): NewClaim[] {
  const payers = Array.from({ length: payerCount }, () => hex(20));
  return Array.from({ length: count }, (_, index) => ({
    protocol: 'x402',
    chain: 'MATIC',
    token,
    amount: amountOf('USDC', 100n),
    authorization: {
      from: payers[index % payerCount] as Hex,
      to: hex(20),
      atomic: 100n,
      nonce: hex(32),
      validAfter: 0n,
      validBefore: 9_999_999_999n,
      signature: hex(65),
    },
    resource: 'nanoQuote',
    fingerprint: randomBytes(32),
    identifier: undefined,
    submittedElsewhere: false,
    mostCredit: 1_000_000n,
    holding: { atomic: 1_000_000n, settledBefore: 0n },
    clearsDebt: false,
  }));
}

const claimAll = (claims: readonly NewClaim[]) => Promise.all(claims.map(createClaimer(db)));

function leasesOf(claimed: Awaited<ReturnType<typeof claimAll>>) {
  return claimed.map((one) => {
    if (one.is !== 'claimed') throw new Error(`${one.is} instead of claimed`);
    return one;
  });
}

const callOf = ({ id, holder }: { readonly id: string; readonly holder: string }, by: string) => ({
  id,
  holder,
  amount: amountOf('USDC', 100n),
  answer: { by },
});

test('a batch whose connection ends before its commit has claimed nothing', async () => {
  const claims = newClaims(3, 9);
  const [first] = claims;
  if (first === undefined) throw new Error('nothing to claim');
  // Whoever holds the payer makes the batch wait with its payers half locked.
  await claimAll([first]);
  await db.transaction(async (tx) => {
    await tx.query('SELECT FROM payers WHERE address = $1 FOR UPDATE', [first.authorization.from]);
    const lost = claimAll(claims.slice(1)).then(
      () => 'claimed',
      () => 'lost',
    );
    await expect
      .poll(async () => {
        const { rowCount } = await db.query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%claim_payments%'`,
        );
        return rowCount;
      })
      .toBe(1);
    expect(await lost).toBe('lost');
  });
  const { rows } = await db.query('SELECT FROM payment_claims WHERE token = $1', [token]);
  expect(rows).toHaveLength(1);
  // The same payments are claimed when they come again, each once.
  const again = await claimAll(claims);
  expect(again.map(({ is }) => is)).toEqual(['known', ...claims.slice(1).map(() => 'claimed')]);
  const { rows: wrong } = await db.query(
    `SELECT FROM payers p WHERE p.token = $1 AND p.credit <> (
       SELECT sum(atomic) FROM payment_claims c WHERE c.payer = p.address)`,
    [token],
  );
  expect(wrong).toEqual([]);
});

test('calls that a process claimed before it ended are served once, by the next that gets the payments', async () => {
  const claims = newClaims(4, 20);
  const abandoned = leasesOf(await claimAll(claims));
  expect((await claimAll(claims)).map(({ is }) => is)).toEqual(claims.map(() => 'known'));
  await db.query("UPDATE payment_claims SET leased_until = clock_timestamp() - interval '1 second'");

  const taken = leasesOf(await claimAll(claims));

  expect(taken.map(({ id }) => id)).toEqual(abandoned.map(({ id }) => id));
  // The first process was only slow: what it brings now comes too late, in the same moment or after.
  const serve = createCallServer(db, ledger);
  const [late, inTime] = await Promise.all([
    Promise.all(abandoned.map((lease) => serve(callOf(lease, 'the first')))),
    Promise.all(taken.map((lease) => serve(callOf(lease, 'the second')))),
  ]);
  expect([new Set(late), new Set(inTime)]).toEqual([new Set([false]), new Set([true])]);
  expect(await serve(callOf(abandoned[0] as (typeof abandoned)[number], 'the first'))).toBe(false);
  const ids = taken.map(({ id }) => id);
  const { rows } = await db.query('SELECT DISTINCT answer FROM payment_claims WHERE id = ANY ($1)', [ids]);
  expect(rows).toEqual([{ answer: { by: 'the second' } }]);
  const { rowCount } = await db.query('SELECT FROM ledger.postings WHERE reference = ANY ($1)', [
    ids.map((id) => `call:${id}`),
  ]);
  expect(rowCount).toBe(ids.length);
});

test('serving a call writes to no index', async () => {
  const { rows } = await db.query(
    `SELECT indexdef FROM pg_indexes WHERE tablename = 'payment_claims'
        AND indexdef ~ '\\m(served_at|answer|leased_until|holder)\\M'`,
  );
  expect(rows).toEqual([]);
});

test('answers are deleted after two days, and the payments stay', async () => {
  const [old, young] = leasesOf(await claimAll(newClaims(1, 2)));
  if (old === undefined || young === undefined) throw new Error('nothing was claimed');
  const when = "now() - interval '49 hours'";
  await db.query(`UPDATE payment_claims SET claimed_at = ${when} WHERE id = ANY ($1)`, [[old.id, young.id]]);
  await db.query(`UPDATE payment_claims SET served_at = ${when}, answer = '{}' WHERE id = $1`, [old.id]);
  await db.query("UPDATE payment_claims SET served_at = now(), answer = '{}' WHERE id = $1", [young.id]);
  await forgetAnswers(db);
  const { rows } = await db.query('SELECT id, answer FROM payment_claims WHERE id = ANY ($1) ORDER BY served_at', [
    [old.id, young.id],
  ]);
  expect(rows).toEqual([
    { id: old.id, answer: null },
    { id: young.id, answer: {} },
  ]);
});
