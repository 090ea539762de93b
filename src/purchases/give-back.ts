import { dropStep } from '../chain-steps/plan-step.ts';
import { settleStep } from '../chain-steps/settle-step.ts';
import { houseAccount, userAccount } from '../ledger/account-id.ts';
import { releaseKey } from '../ledger/kept-answers.ts';
import { postSurely } from '../ledger/post-surely.ts';
import type { Posting } from '../ledger/posting.ts';
import { describeUrl } from './open-purchase.ts';
import type { PurchaseParts } from './parts.ts';
import { type Purchase, payStep, takenFor } from './purchase.ts';

/**
 * The seller was shown no payment, and nobody will show it one: the amount goes back at once. It is as if it had been refused, so
 * the same Idempotency-Key may succeed later.
 */
export async function giveBackUnshown(parts: PurchaseParts, purchase: Purchase, reason: string): Promise<void> {
  const { db, ledger } = parts;
  const { id, keyDigest } = purchase;
  await db.transaction(async (tx) => {
    const { rowCount } = await tx.query(
      `UPDATE purchases SET status = 'returned', error = $2, key_digest = NULL, updated_at = now(), finished_at = now()
        WHERE id = $1 AND status IN ('held', 'signed')`,
      [id, reason],
    );
    if (rowCount === 0) return;
    await tx.query('DELETE FROM purchase_requests WHERE purchase_id = $1', [id]);
    await dropStep(tx, payStep(id));
    await postSurely(tx, ledger, [returned(purchase, reason)]);
    if (keyDigest !== null) await releaseKey(tx, keyDigest);
  });
}

/** The seller has not taken it, and can no more. */
export async function giveBackLapsed(parts: PurchaseParts, purchase: Purchase): Promise<void> {
  const { db, ledger } = parts;
  const { id } = purchase;
  const reason = 'The seller did not take the payment in time.';
  await db.transaction(async (tx) => {
    const { rowCount } = await tx.query(
      `UPDATE purchases SET status = 'returned', error = $2, updated_at = now(), finished_at = now()
        WHERE id = $1 AND status = 'settling'`,
      [id, reason],
    );
    if (rowCount === 0) return;
    await settleStep(tx, payStep(id), { state: 'failed', reason, gasCost: 0n });
    await postSurely(tx, ledger, [returned(purchase, reason)]);
  });
}

function returned(purchase: Purchase, reason: string): Posting {
  const { id, accountId, url, payTo } = purchase;
  const amount = takenFor(purchase);
  return {
    type: 'purchase_returned',
    amount,
    entries: [
      { account: houseAccount('nano_in_transit', amount.asset), atomic: -amount.atomic },
      { account: userAccount(accountId, amount.asset), atomic: amount.atomic },
    ],
    reference: `purchase:${id}:end`,
    description: describeUrl(url),
    details: { purchaseId: id, payTo, error: reason },
    recipientId: accountId,
    recipientEvent: 'purchase.returned',
  };
}
