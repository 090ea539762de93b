import { lockSending } from '../../custody/limits/apply-brakes.ts';
import { dropStep } from '../../custody/steps/plan-step.ts';
import { settleStep } from '../../custody/steps/settle-step.ts';
import type { Transaction } from '../../kernel/db/database.ts';
import { houseAccount, userAccount } from '../../ledger/account-id.ts';
import { releaseKey } from '../../ledger/kept-answers.ts';
import { postSurely } from '../../ledger/post-surely.ts';
import type { Posting } from '../../ledger/posting.ts';
import { add } from '../../money/amount.ts';
import { cutReturned } from './keep-answer.ts';
import { describeUrl } from './open-purchase.ts';
import type { PurchaseParts } from './parts.ts';
import { type Purchase, payStep } from './purchase.ts';
import { returnFees } from './return-fees.ts';

/**
 * The seller was shown no payment, and nobody will show it one: the amount goes back at once. It is as if it had been refused, so
 * the same Idempotency-Key may succeed later.
 */
export async function giveBackUnshown(parts: PurchaseParts, purchase: Purchase, reason: string): Promise<void> {
  const { db, ledger } = parts;
  const { id, accountId, keyDigest } = purchase;
  await db.transaction(async (tx) => {
    await lockSending(tx, accountId);
    const { rowCount } = await tx.query(
      `UPDATE purchases SET status = 'returned', error = $2, key_digest = NULL, updated_at = now(), finished_at = clock_timestamp()
        WHERE id = $1 AND status IN ('held', 'signed')`,
      [id, reason],
    );
    if (rowCount === 0) return;
    await tx.query('DELETE FROM purchase_requests WHERE purchase_id = $1', [id]);
    await dropStep(tx, payStep(id));
    await postSurely(tx, ledger, await comesBack(tx, purchase, reason));
    if (keyDigest !== null) await releaseKey(tx, keyDigest);
  });
}

/** The seller has not taken it, and can no more. */
export async function giveBackLapsed(parts: PurchaseParts, purchase: Purchase): Promise<void> {
  const { db, ledger } = parts;
  const { id, accountId } = purchase;
  const reason = 'The seller did not take the payment in time.';
  await db.transaction(async (tx) => {
    await lockSending(tx, accountId);
    const { rowCount } = await tx.query(
      `UPDATE purchases SET status = 'returned', error = $2, updated_at = now(), finished_at = clock_timestamp()
        WHERE id = $1 AND status = 'settling'`,
      [id, reason],
    );
    if (rowCount === 0) return;
    await settleStep(tx, payStep(id), { state: 'failed', reason, gasCost: 0n });
    await cutReturned(tx, id);
    await postSurely(tx, ledger, await comesBack(tx, purchase, reason));
  });
}

/** The amount and its fee, and what others have cost because of it. */
async function comesBack(tx: Transaction, purchase: Purchase, reason: string): Promise<Posting[]> {
  const { id, accountId, amount, url, payTo } = purchase;
  const { own, kept, others } = await returnFees(tx, purchase);
  const back = add(amount, own);
  return [
    {
      type: 'purchase_returned',
      amount: back,
      entries: [
        { account: houseAccount('nano_in_transit', amount.asset), atomic: -add(back, kept).atomic },
        { account: userAccount(accountId, amount.asset), atomic: back.atomic },
        { account: houseAccount('fees', amount.asset), atomic: kept.atomic },
      ],
      reference: `purchase:${id}:end`,
      description: describeUrl(url),
      details: { purchaseId: id, payTo, error: reason },
      recipientId: accountId,
      recipientEvent: 'purchase.returned',
    },
    ...others,
  ];
}
