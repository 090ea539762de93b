import type { Queryable } from '../db/database.ts';
import type { Caller, IdempotencyClaim } from '../http/define-route.ts';
import { httpErrors } from '../http/errors.ts';
import { houseAccount, userAccount } from '../ledger/account-id.ts';
import { findEarlier } from '../ledger/find-earlier.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Outcome, Posted } from '../ledger/posting.ts';
import { type Amount, subtract, toJsonNumber } from '../money/amount.ts';
import { transferFee } from '../money/fees.ts';
import { transferErrors } from './errors.ts';
import { recipientOrRefuse } from './recipient.ts';
import type { RecipientBook } from './recipient-book.ts';

export interface TransferRequest {
  readonly caller: Caller;
  readonly to: string;
  readonly amount: Amount;
  readonly description: string | undefined;
  readonly idempotency: IdempotencyClaim | undefined;
}

export interface CompletedTransfer {
  readonly posting: Posted;
  /** The request had been sent before, and this is what it did then. */
  readonly replayed: boolean;
}

/** Resolve the recipient → price → post. When this returns, the money has moved. */
export async function createTransfer(
  { db, ledger, recipients }: { readonly db: Queryable; readonly ledger: Ledger; readonly recipients: RecipientBook },
  { caller, to, amount, description, idempotency: claim }: TransferRequest,
): Promise<CompletedTransfer> {
  const idempotency = claim && { accountId: caller.accountId, ...claim };
  const recipientId = await recipients.find(recipientOrRefuse(to));
  if (recipientId === undefined || recipientId === caller.accountId) {
    // Sent again, it may have been paid before that email or number came to mean somebody else, or nobody.
    const earlier = idempotency && (await findEarlier(db, idempotency));
    if (earlier !== undefined) return complete(earlier);
    throw recipientId === undefined ? transferErrors.recipient_not_found() : transferErrors.self_transfer();
  }

  const { asset } = amount;
  const fee = transferFee(amount);
  const outcome = await ledger.post({
    type: 'transfer',
    amount,
    fee,
    entries: [
      { account: userAccount(caller.accountId, asset), atomic: -amount.atomic },
      { account: userAccount(recipientId, asset), atomic: amount.atomic - fee.atomic },
      { account: houseAccount('fees', asset), atomic: fee.atomic },
    ],
    senderId: caller.accountId,
    recipientId,
    keyId: caller.keyId,
    senderEvent: 'payment.sent',
    recipientEvent: 'payment.received',
    ...(description !== undefined && { description }),
    ...(idempotency !== undefined && { idempotency }),
  });
  return complete(outcome);
}

function complete(result: Outcome): CompletedTransfer {
  switch (result.outcome) {
    case 'posted':
      return { posting: result.posting, replayed: false };
    case 'duplicate':
      return { posting: result.posting, replayed: true };
    case 'insufficient_balance':
      throw transferErrors.insufficient_balance();
    case 'frozen_account':
      throw transferErrors.account_frozen();
    case 'key_revoked':
      throw httpErrors.unauthorized(undefined, { headers: { 'WWW-Authenticate': 'Bearer' } });
    case 'mismatch':
      throw httpErrors.idempotency_mismatch();
    case 'unknown_account':
      throw new Error('a transfer names an account that was just there');
  }
}

export function describeTransfer({ id, amount, fee }: Posted) {
  return {
    transferId: id,
    status: 'complete' as const,
    amount: toJsonNumber(amount),
    fee: toJsonNumber(fee),
    recipientAmount: toJsonNumber(subtract(amount, fee)),
    currency: amount.asset as 'USDC' | 'EURC',
  };
}
