import { z } from 'zod';
import { type Database, onlyRow, type Transaction } from '../../kernel/db/database.ts';
import { deleteInChunks } from '../../kernel/db/delete-in-chunks.ts';
import { defineJob, handleJob } from '../../kernel/jobs/define-job.ts';
import type { Schedule } from '../../kernel/jobs/worker.ts';
import type { SellerAnswer } from './ask-seller.ts';

const job = defineJob({ name: 'forget_purchase_answers', payload: z.unknown(), maxAttempts: 1 });

/** As long as an Idempotency-Key, so that replays find their answer. */
const keptHours = 48;

/** Small batches keep locks short. */
const chunk = 500;

export function forgetAnswersSchedule(db: Database): Schedule {
  return { at: '23 * * * *', handler: handleJob(job, () => forgetAnswers(db)) };
}

export async function forgetAnswers(db: Database): Promise<void> {
  await db.query('DELETE FROM kept_bytes WHERE day < current_date - 1');
  const where = `kept_at < now() - interval '${keptHours} hours'`;
  await deleteInChunks(db, { table: 'purchase_answers', where, atOnce: chunk });
}

/** Per answer, in addition to what its price pays for. */
const freeBytes = 16 * 1_024;

/** Per millionth of a USDC paid: an answer for a tenth of a cent is kept whole. */
const bytesPerAtomic = 1_024;

/** Per account and day. */
const mostBytes = { paid: 64 * 1_024 * 1_024, free: 1_024 * 1_024 } as const;

const mostHeaderBytes = 2_048;

/**
 * Shortens an answer for idempotent replays; the first response is always whole. Keeps 1 KiB per millionth of a USDC
 * paid, up to 64 MiB a day, plus 16 KiB, up to 1 MiB a day. If the headers are large, only the content type is kept. A
 * shortened answer is marked as truncated.
 */
export async function shortenToKeep(
  tx: Transaction,
  accountId: bigint,
  answer: SellerAnswer,
  paidAtomic = 0n,
): Promise<SellerAnswer> {
  let headers = sizeOf(answer.headers) <= mostHeaderBytes ? answer.headers : typeAlone(answer.headers);
  const { length } = answer.body;
  const paid = await takeBytes(tx, accountId, 'paid', Math.min(length, Number(paidAtomic) * bytesPerAtomic));
  const rest = Math.min(length - paid, freeBytes) + sizeOf(headers);
  const free = await takeBytes(tx, accountId, 'free', rest);
  const room = paid + Math.max(0, free - sizeOf(headers));
  if (free < sizeOf(headers)) headers = typeAlone(headers);
  if (room >= length) return { ...answer, headers };
  return { ...answer, headers, body: answer.body.subarray(0, endOfCharacter(answer.body, room)), truncated: true };
}

/** A returned purchase keeps no more than a free one. */
export async function cutReturned(tx: Transaction, purchaseId: string): Promise<void> {
  await tx.query(
    `UPDATE purchase_answers SET body = substring(body FOR $2), truncated = true
      WHERE purchase_id = $1 AND octet_length(body) > $2`,
    [purchaseId, freeBytes],
  );
}

/** Takes as many bytes as the day has left. The row lock makes concurrent calls of the account wait for the commit. */
async function takeBytes(
  tx: Transaction,
  accountId: bigint,
  kind: keyof typeof mostBytes,
  wanted: number,
): Promise<number> {
  if (wanted <= 0) return 0;
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
  const taken = Math.max(0, Math.min(wanted, mostBytes[kind] - Number(bytes)));
  await tx.query(
    'UPDATE kept_bytes SET bytes = bytes + $3 WHERE account_id = $1 AND kind = $2 AND day = current_date',
    [accountId, kind, taken],
  );
  return taken;
}

function typeAlone(headers: SellerAnswer['headers']): SellerAnswer['headers'] {
  const type = headers['content-type'];
  return typeof type === 'string' && type.length <= 200 ? { 'content-type': type } : {};
}

function sizeOf(headers: SellerAnswer['headers']): number {
  return JSON.stringify(headers).length;
}

/** Never cuts inside a UTF-8 character. */
function endOfCharacter(body: Buffer, end: number): number {
  let at = end;
  while (at > 0 && at > end - 4 && ((body[at] ?? 0) & 0xc0) === 0x80) at--;
  return at;
}
