import { onlyRow, type Queryable, type Transaction } from '../db/database.ts';
import type { SellerAnswer } from './ask-seller.ts';

/** What of an answer is kept in any case, of one that was paid for, and at most of one that was not. */
const usualBytes = 16 * 1_024;

/** Of all answers for an account on a day, by whether they were paid for. */
const mostBytes = { paid: 64 * 1_024 * 1_024, free: 1_024 * 1_024 } as const;

/**
 * An answer as it is kept for whoever asks again: of a free one no more than 16 KiB, and none beyond 1 MiB a day. What was paid for is kept
 * whole up to 64 MiB a day, and 16 KiB of each beyond that. What is cut says so.
 */
export async function shortenToKeep(
  tx: Transaction,
  accountId: bigint,
  answer: SellerAnswer,
  kind: keyof typeof mostBytes,
): Promise<SellerAnswer> {
  const { length } = answer.body;
  const used = await usedToday(tx, accountId, kind);
  const room = Math.max(0, mostBytes[kind] - used);
  const allowed = kind === 'paid' ? Math.max(room, usualBytes) : Math.min(room, usualBytes);
  const kept = length <= allowed ? answer.body : answer.body.subarray(0, endOfCharacter(answer.body, allowed));
  await tx.query(
    'UPDATE kept_bytes SET bytes = bytes + $3 WHERE account_id = $1 AND kind = $2 AND day = current_date',
    [accountId, kind, kept.length],
  );
  return kept.length === length ? answer : { ...answer, body: kept, truncated: true };
}

/** Others of the same account wait for the commit. */
async function usedToday(tx: Transaction, accountId: bigint, kind: string): Promise<number> {
  await tx.query(
    'INSERT INTO kept_bytes (account_id, day, kind) VALUES ($1, current_date, $2) ON CONFLICT DO NOTHING',
    [accountId, kind],
  );
  const { bytes } = onlyRow(
    await tx.query<{ bytes: bigint }>(
      'SELECT bytes FROM kept_bytes WHERE account_id = $1 AND kind = $2 AND day = current_date FOR UPDATE',
      [accountId, kind],
    ),
  );
  return Number(bytes);
}

/** So that text stays text: a character that would be cut is left out. */
function endOfCharacter(body: Buffer, end: number): number {
  let at = end;
  while (at > 0 && at > end - 4 && ((body[at] ?? 0) & 0xc0) === 0x80) at--;
  return at;
}

export async function forgetKeptBytes(db: Queryable): Promise<void> {
  await db.query('DELETE FROM kept_bytes WHERE day < current_date - 1');
}
