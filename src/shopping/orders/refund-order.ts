import type { Transaction } from '../../kernel/db/database.ts';
import type { Caller } from '../../kernel/http/define-route.ts';
import { newId } from '../../kernel/ids/ids.ts';
import { userAccount } from '../../ledger/account-id.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { newPostingId } from '../../ledger/posting-id.ts';
import { requirePosted } from '../../ledger/require-posted.ts';
import { type Amount, toJsonNumber } from '../../money/amount.ts';
import { describeSale, recordOrderEvent, refundableOf } from './answer.ts';
import { orderErrors, saleErrors } from './errors.ts';
import { refunded } from './postings.ts';
import { findSale, lockSale } from './sale.ts';

export interface RefundRequest {
  readonly orderId: string;
  readonly caller: Caller;
  /** Undefined refunds all that is left. */
  readonly amount: Amount | undefined;
  readonly reason: string | undefined;
}

/** Writes refund, event and posting in the caller's commit. A database constraint refuses more than was paid. */
export async function refundOrder(tx: Transaction, ledger: Ledger, { orderId, caller, amount, reason }: RefundRequest) {
  const { accountId, keyId } = caller;
  const order = await lockSale(tx, accountId, orderId);
  if (order.accountId === accountId)
    throw orderErrors.own_shop('The buyer is your own account, so there is nothing to refund.');
  const left = refundableOf(order);
  const back = amount ?? left;
  if (back.atomic > left.atomic || left.atomic === 0n) {
    throw saleErrors.refund_too_large(undefined, { members: { refundable: toJsonNumber(left) } });
  }
  const id = newId('rfd');
  const transferId = newPostingId();
  await tx.query('INSERT INTO order_refunds (id, order_id, atomic, reason, transfer_id) VALUES ($1, $2, $3, $4, $5)', [
    id,
    orderId,
    back.atomic,
    reason ?? null,
    transferId,
  ]);
  const after = await findSale(tx, accountId, orderId);
  await recordOrderEvent(tx, 'order.refunded', after, accountId);
  const [posted] = await ledger.postWithin(tx, [
    refunded(order, {
      id,
      transferId,
      amount: back,
      seller: userAccount(accountId, order.asset),
      sellerId: accountId,
      keyId,
      reason,
    }),
  ]);
  requirePosted(posted?.outcome ?? 'unknown_account', 'a refund');
  return { refundId: id, transferId, amount: toJsonNumber(back), sale: describeSale(after) };
}
