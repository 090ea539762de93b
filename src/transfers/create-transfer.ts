import type { Caller, IdempotencyClaim } from '../http/define-route.ts';
import { httpErrors } from '../http/errors.ts';
import { houseAccount, userAccount } from '../ledger/account-id.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Posted } from '../ledger/posting.ts';
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
  { ledger, recipients }: { readonly ledger: Ledger; readonly recipients: RecipientBook },
  { caller, to, amount, description, idempotency }: TransferRequest,
): Promise<CompletedTransfer> {
  const recipientId = await recipients.find(recipientOrRefuse(to));
  if (recipientId === undefined) throw transferErrors.recipient_not_found();
  if (recipientId === caller.accountId) throw transferErrors.self_transfer();

  const { asset } = amount;
  const fee = transferFee(amount);
  const result = await ledger.post({
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
    ...(idempotency !== undefined && { idempotency: { accountId: caller.accountId, ...idempotency } }),
  });

  switch (result.outcome) {
    case 'posted':
      return { posting: result.posting, replayed: false };
    case 'duplicate':
      return { posting: result.posting, replayed: true };
    // Whoever has never had any of this currency has no account in it yet.
    case 'unknown_account':
    case 'insufficient_balance':
      throw transferErrors.insufficient_balance();
    case 'frozen_account':
      throw transferErrors.account_frozen();
    case 'key_revoked':
      throw httpErrors.unauthorized();
    case 'mismatch':
      throw httpErrors.idempotency_mismatch();
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
