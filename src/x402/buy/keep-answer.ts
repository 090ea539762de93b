import { onlyRow, type Queryable, type Transaction } from '../../kernel/db/database.ts';
import type { SellerAnswer } from './ask-seller.ts';

/** Of one answer, without anything having been paid for it, or besides what its price pays for. */
const freeBytes = 16 * 1_024;

/** For each millionth of a USDC that it cost: an answer of a tenth of a cent is kept whole. */
const bytesPerAtomic = 1_024;

/** Of all answers for an account on a day. */
const mostBytes = { paid: 64 * 1_024 * 1_024, free: 1_024 * 1_024 } as const;

const mostHeaderBytes = 2_048;

/**
 * An answer as it is kept for the same request again; the first one gets all of it. A KiB for each millionth of a USDC that was paid, up to
 * 64 MiB a day, and 16 KiB besides, up to 1 MiB a day. Many headers are not kept, except what the body is. What is cut says so.
 */
export async function shortenToKeep(
  tx: Transaction,
  accountId: bigint,
  answer: SellerAnswer,
  paidAtomic = 0n,
): Promise<SellerAnswer> {
  let headers = sizeOf(answer.headers) <= mostHeaderBytes ? answer.headers : typeAlone(answer.headers);
  const { length } = answer.body;
  const paid = await takeBytes(tx, {
    accountId,
    kind: 'paid',
    wanted: Math.min(length, Number(paidAtomic) * bytesPerAtomic),
  });
  const rest = Math.min(length - paid, freeBytes) + sizeOf(headers);
  const free = await takeBytes(tx, { accountId, kind: 'free', wanted: rest });
  const room = paid + Math.max(0, free - sizeOf(headers));
  if (free < sizeOf(headers)) headers = typeAlone(headers);
  if (room >= length) return { ...answer, headers };
  return { ...answer, headers, body: answer.body.subarray(0, endOfCharacter(answer.body, room)), truncated: true };
}

/** What is not paid for after all takes no more room than what was free. */
export async function cutReturned(tx: Transaction, purchaseId: string): Promise<void> {
  await tx.query(
    `UPDATE purchase_answers SET body = substring(body FOR $2), truncated = true
      WHERE purchase_id = $1 AND octet_length(body) > $2`,
    [purchaseId, freeBytes],
  );
}

interface Taking {
  readonly accountId: bigint;
  readonly kind: keyof typeof mostBytes;
  readonly wanted: number;
}

/** As many of these bytes as are left of the day. Others of the same account wait for the commit. */
async function takeBytes(tx: Transaction, { accountId, kind, wanted }: Taking): Promise<number> {
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

/** So that text stays text: a character that would be cut is left out. */
function endOfCharacter(body: Buffer, end: number): number {
  let at = end;
  while (at > 0 && at > end - 4 && ((body[at] ?? 0) & 0xc0) === 0x80) at--;
  return at;
}

export async function forgetKeptBytes(db: Queryable): Promise<void> {
  await db.query('DELETE FROM kept_bytes WHERE day < current_date - 1');
}
