import type { DuplicateGuard } from '../../kernel/http/duplicate-guard.ts';
import { houseAccount, userAccount } from '../../ledger/account-id.ts';
import { postingRefusal } from '../../ledger/balance-errors.ts';
import { describeMoney, type EventType, jsonAmount, type PartyOf } from '../../ledger/event-types.ts';
import type { Authority, IdempotencyScope, Outcome, Posted, Posting } from '../../ledger/posting.ts';
import { type Amount, subtract } from '../../money/amount.ts';
import { transferFee } from '../../money/fees.ts';
import { transferErrors } from './errors.ts';

export const transferEvents: readonly EventType[] = [
  { name: 'payment.sent', describe: describePayment },
  { name: 'payment.received', describe: describePayment },
];

/** Sender and recipient get the same payload, with the names they know each other by. */
function describePayment(posting: Posted, partyOf: PartyOf): Readonly<Record<string, unknown>> {
  const { amount, fee, description } = posting;
  return {
    ...describeMoney(posting),
    fee: jsonAmount(fee),
    recipientAmount: jsonAmount(subtract(amount, fee)),
    sender: partyOf(posting.senderId),
    recipient: partyOf(posting.recipientId),
    ...(description !== null && { description }),
  };
}

export interface Payment {
  readonly senderId: bigint;
  readonly recipientId: bigint;
  /** Before the fee, which is deducted from it. */
  readonly amount: Amount;
  readonly keyId: string;
  readonly authority: Authority;
  readonly description: string | undefined;
  readonly idempotency?: IdempotencyScope | undefined;
  readonly guard?: DuplicateGuard | undefined;
}

/** The posting for every payment between two users, whether a transfer or a paid invoice. */
export function transferPosting(payment: Payment): Posting {
  const { senderId, recipientId, amount, keyId, authority, description, idempotency, guard } = payment;
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
    authority,
    senderEvent: 'payment.sent',
    recipientEvent: 'payment.received',
    description,
    idempotency,
    guard,
  };
}

export interface CompletedTransfer {
  readonly posting: Posted;
  /** True for an idempotent replay: the posting is from the first request. */
  readonly replayed: boolean;
}

/** The ledger's outcome, or the error for the sender. */
export function completeOrRefuse(result: Outcome): CompletedTransfer {
  if ('posting' in result) return { posting: result.posting, replayed: result.outcome === 'duplicate' };
  // Its handle was known, and the account was closed since.
  if (result.outcome === 'unknown_account') throw transferErrors.recipient_not_found();
  throw postingRefusal(result, 'a transfer');
}
