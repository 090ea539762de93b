import { explainNotFound } from '../../accounts/explain-not-found.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import type { Caller, IdempotencyClaim } from '../../kernel/http/define-route.ts';
import { findEarlier } from '../../ledger/find-earlier.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Posted } from '../../ledger/posting.ts';
import { type Amount, subtract, toJsonNumber } from '../../money/amount.ts';
import type { Currency } from '../../money/catalogue.ts';
import { transferErrors } from './errors.ts';
import { recipientOrRefuse } from './recipient.ts';
import type { RecipientBook } from './recipient-book.ts';
import { type CompletedTransfer, completeOrRefuse, transferPosting } from './transfer-posting.ts';

export interface TransferRequest {
  readonly caller: Caller;
  readonly to: string;
  readonly amount: Amount;
  readonly description: string | undefined;
  readonly idempotency: IdempotencyClaim | undefined;
}

/** Resolve the recipient → price → post. When this returns, the money has moved. */
export async function createTransfer(
  { db, ledger, recipients }: { readonly db: Queryable; readonly ledger: Ledger; readonly recipients: RecipientBook },
  { caller, to, amount, description, idempotency: claim }: TransferRequest,
): Promise<CompletedTransfer> {
  const idempotency = claim && { accountId: caller.accountId, ...claim };
  const recipient = recipientOrRefuse(to);
  const recipientId = await recipients.find(recipient);
  if (recipientId === undefined || recipientId === caller.accountId) {
    // A retry may come after the email or number moved to another account. Replay the first outcome if there is one.
    const earlier = idempotency && (await findEarlier(db, idempotency));
    if (earlier !== undefined) return completeOrRefuse(earlier);
    if (recipientId !== undefined) throw transferErrors.self_transfer();
    throw transferErrors.recipient_not_found(explainNotFound(recipient));
  }

  const outcome = await ledger.post({
    ...transferPosting({ senderId: caller.accountId, recipientId, amount, keyId: caller.keyId, description }),
    ...(idempotency !== undefined && { idempotency }),
  });
  return completeOrRefuse(outcome);
}

export function describeTransfer({ id, amount, fee }: Posted) {
  return {
    transferId: id,
    status: 'complete' as const,
    amount: toJsonNumber(amount),
    fee: toJsonNumber(fee),
    recipientAmount: toJsonNumber(subtract(amount, fee)),
    currency: amount.asset as Currency,
  };
}
