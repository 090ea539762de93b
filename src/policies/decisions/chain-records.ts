import { randomBytes } from 'node:crypto';
import type { Transaction } from '../../kernel/db/database.ts';
import { lockUntilCommit } from '../../kernel/db/locks.ts';
import { readWaiting } from './read-waiting.ts';
import { canonicalJson, firstHead, nextHead, recordHash } from './record.ts';

/** Bounds the records in memory and in one commit. */
const recordsPerCommit = 1_000;
/** The proof of a record contains the hashes of those that follow it under the same root. */
const mostUnsealed = 5_000;

/**
 * Chains the oldest waiting records, each after the last one of its account, in one commit. One process at a time does it, so the
 * order of an account is decided once.
 */
export async function chainWaiting(tx: Transaction): Promise<Chained> {
  await lockUntilCommit(tx, 'decisions');
  const waiting = await readWaiting(tx, { rest: `ORDER BY w.id LIMIT ${recordsPerCommit}` });
  if (waiting.length === 0) return { hasMore: false, isLong: false };
  const heads = await readHeads(
    tx,
    waiting.map(({ accountId }) => accountId),
  );
  const chained = waiting.map((decision) => {
    const { accountId } = decision;
    const before = heads.get(accountId) ?? { seq: 0n, head: firstHead };
    const seq = before.seq + 1n;
    const record = canonicalJson({ ...decision.record, seq: String(seq) });
    const head = nextHead(before.head, recordHash(record));
    heads.set(accountId, { seq, head });
    return { ...decision, seq, text: record, head };
  });
  await tx.query(
    `INSERT INTO policy_decisions (account_id, seq, id, key_id, outcome, at, record, head)
     SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::uuid[], $4::text[], $5::text[], $6::timestamptz[],
       string_to_array($7, E'\\n'), $8::bytea[])`,
    [
      chained.map(({ accountId }) => accountId),
      chained.map(({ seq }) => seq),
      chained.map(({ id }) => id),
      chained.map(({ keyId }) => keyId),
      chained.map(({ record }) => record.outcome),
      chained.map(({ record }) => record.at),
      // JSON without blanks has no line breaks.
      chained.map(({ text }) => text).join('\n'),
      chained.map(({ head }) => head),
    ],
  );
  const isLong = await writeHeads(tx, heads);
  await tx.query('DELETE FROM decisions_waiting WHERE id = ANY ($1::uuid[])', [waiting.map(({ id }) => id)]);
  return { hasMore: waiting.length === recordsPerCommit, isLong };
}

export interface Chained {
  /** More may be waiting. */
  readonly hasMore: boolean;
  /** So many records of one account are not covered by a signed root that their proofs would get too long. */
  readonly isLong: boolean;
}

interface Head {
  readonly seq: bigint;
  readonly head: Buffer;
}

async function readHeads(tx: Transaction, accountIds: readonly bigint[]): Promise<Map<bigint, Head>> {
  const { rows } = await tx.query<Head & { accountId: bigint }>(
    'SELECT account_id, seq, head FROM decision_heads WHERE account_id = ANY ($1)',
    [accountIds],
  );
  return new Map(rows.map(({ accountId, ...head }) => [accountId, head]));
}

/** An account gets the next place with its first record, and a salt that nobody else knows. */
async function writeHeads(tx: Transaction, heads: ReadonlyMap<bigint, Head>): Promise<boolean> {
  const written = [...heads];
  await tx.query(
    `INSERT INTO decision_heads AS h (account_id, place, salt, seq, head)
     SELECT n.account_id, coalesce((SELECT max(place) + 1 FROM decision_heads), 0) + row_number() OVER (ORDER BY n.n) - 1, n.salt, n.seq, n.head
       FROM unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::bytea[]) WITH ORDINALITY n (account_id, salt, seq, head, n)
      WHERE NOT EXISTS (SELECT FROM decision_heads k WHERE k.account_id = n.account_id)`,
    [
      written.map(([accountId]) => accountId),
      written.map(() => randomBytes(32)),
      written.map(([, { seq }]) => seq),
      written.map(([, { head }]) => head),
    ],
  );
  const { rows } = await tx.query<{ isLong: boolean }>(
    `UPDATE decision_heads h SET seq = n.seq, head = n.head
       FROM unnest($1::bigint[], $2::bigint[], $3::bytea[]) n (account_id, seq, head) WHERE h.account_id = n.account_id
     RETURNING h.seq - h.sealed_seq >= ${mostUnsealed} AS is_long`,
    [written.map(([accountId]) => accountId), written.map(([, { seq }]) => seq), written.map(([, { head }]) => head)],
  );
  return rows.some(({ isLong }) => isLong);
}
