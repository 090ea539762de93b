import { houseAccount, userAccount } from '../../ledger/account-id.ts';
import type { Outcome, Posted, Posting } from '../../ledger/posting.ts';
import { postingRefusal } from '../../ledger/require-posted.ts';
import type { Amount } from '../../money/amount.ts';
import { transferFee } from '../../money/fees.ts';
import { transferErrors } from './errors.ts';

export interface Payment {
  readonly senderId: bigint;
  readonly recipientId: bigint;
  /** Before the fee, which is deducted from it. */
  readonly amount: Amount;
  readonly keyId: string;
  readonly description: string | undefined;
}

/** The posting for every payment between two users, whether a transfer or a paid invoice. */
export function transferPosting({ senderId, recipientId, amount, keyId, description }: Payment): Posting {
  const { asset } = amount;
  const fee = transferFee(amount);
  return {
    type: 'transfer',
    amount,
    fee,
    entries: [
      { account: userAccount(senderId, asset), atomic: -amount.atomic },
      { account: userAccount(recipientId, asset), atomic: amount.atomic - fee.atomic },
      { account: houseAccount('fees', asset), atomic: fee.atomic },
    ],
    senderId,
    recipientId,
    keyId,
    senderEvent: 'payment.sent',
    recipientEvent: 'payment.received',
    ...(description !== undefined && { description }),
  };
}

export interface CompletedTransfer {
  readonly posting: Posted;
  /** True for an idempotent replay: the posting is from the first request. */
  readonly replayed: boolean;
}

/** What the ledger made of it, or the refusal that its sender is told. */
export function completeOrRefuse(result: Outcome): CompletedTransfer {
  if ('posting' in result) return { posting: result.posting, replayed: result.outcome === 'duplicate' };
  // Its handle was known, and the account was closed since.
  if (result.outcome === 'unknown_account') throw transferErrors.recipient_not_found();
  throw postingRefusal(result.outcome, 'a transfer');
}
