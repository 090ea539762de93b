import type { Queryable } from '../kernel/db/database.ts';
import { type Repeated, repeatedSince } from '../kernel/http/duplicate-guard.ts';
import type { Amount } from '../money/amount.ts';
import { userAccount } from './account-id.ts';
import { toPostingId } from './posting.ts';

interface PaymentBetweenUsers {
  readonly senderId: bigint;
  readonly recipientId: bigint;
  readonly amount: Amount;
  /** As payments of invoices have. */
  readonly hasReference: boolean;
}

/** The newest transfer like this one, as the guard in `ledger.post` finds it, but without holding the payer. */
export async function newestTransferLike(
  db: Queryable,
  { senderId, recipientId, amount, hasReference }: PaymentBetweenUsers,
): Promise<Repeated | undefined> {
  const { rows } = await db.query<{ id: string; createdAt: Date }>(
    `SELECT id, posted_at AS created_at FROM (
       SELECT g.posting_id AS id, g.posted_at FROM ledger.guarded_payments g
        WHERE g.payer = $1 AND g.recipient = $2 AND g.amount = $3 AND g.posted_at > ${repeatedSince}
          AND g.type = 'transfer' AND g.has_reference = $4
       UNION ALL
       SELECT p.id, p.posted_at FROM ledger.postings p
        WHERE p.payer = $1 AND p.recipient_id = $2 AND p.amount = $3 AND p.posted_at > ${repeatedSince}
          AND p.type = 'transfer' AND (p.reference IS NOT NULL) = $4
          AND NOT EXISTS (SELECT FROM ledger.guarded_payers w WHERE w.payer = $1 AND w.since <= ${repeatedSince})) l
      ORDER BY posted_at DESC LIMIT 1`,
    [userAccount(senderId, amount.asset), recipientId, amount.atomic, hasReference],
  );
  const [row] = rows;
  return row && { id: toPostingId(row.id), status: 'complete', createdAt: row.createdAt };
}
