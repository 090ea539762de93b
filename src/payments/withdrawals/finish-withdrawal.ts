import { advanceSaga } from '../../custody/steps/advance-saga.ts';
import type { SagaParts } from '../../custody/steps/chain-step.ts';
import type { StepEnd } from '../../custody/steps/take-step.ts';
import type { Transaction } from '../../kernel/db/database.ts';
import { houseAccount } from '../../ledger/account-id.ts';
import type { Posting } from '../../ledger/posting.ts';
import { subtract } from '../../money/amount.ts';
import { withdrawalSaga } from './saga.ts';
import { firstStep, isNative, payStep, sourceOf, type Withdrawal } from './withdrawal.ts';

type FinishParts = Pick<SagaParts, 'db' | 'ledger'>;

/** The payment is confirmed: one commit removes the money from the books and earns the fee. */
export async function completeWithdrawal(
  { db, ledger }: FinishParts,
  withdrawal: Withdrawal,
  end: Extract<StepEnd, { state: 'confirmed' }>,
): Promise<void> {
  const { id, accountId, chain, address, gross, fee, net } = withdrawal;
  const { asset } = gross;
  // Unwrapped coin has left custody already.
  const paidFrom = isNative(withdrawal) ? 'unwrapped_in_transit' : 'custody';
  await db.transaction((tx) =>
    advanceSaga(tx, ledger, withdrawalSaga, {
      id,
      from: 'sending',
      to: 'complete',
      set: { error: null },
      settle: [{ ...payStep(id), end }],
      post: [
        {
          type: 'withdrawal_completed',
          amount: gross,
          fee,
          entries: [
            { account: houseAccount('withdrawals_in_transit', asset, chain), atomic: -gross.atomic },
            { account: houseAccount('fees', asset, chain), atomic: fee.atomic },
            { account: houseAccount(paidFrom, asset, chain), atomic: net.atomic },
          ],
          reference: `withdrawal:${id}:end`,
          details: { withdrawalId: id, chain, address, txHash: end.hash },
          ...(accountId !== null && { senderId: accountId, senderEvent: 'withdrawal.completed' }),
        },
      ],
    }),
  );
}

/** Nothing was paid: one commit returns the amount and the fee, with the caller's own writes. False when it was over before. */
export async function failWithdrawal(
  { db, ledger }: FinishParts,
  withdrawal: Withdrawal,
  end: Extract<StepEnd, { state: 'failed' }> | { readonly neverAsked: string },
  alongside: (tx: Transaction) => Promise<void> = async () => {},
): Promise<boolean> {
  const { id, status } = withdrawal;
  const first = firstStep(withdrawal);
  const isBegun = status === 'sending' || status === 'unwrapping';
  const wasAsked = 'state' in end;
  const reason = wasAsked ? end.reason : end.neverAsked;
  return db.transaction((tx) =>
    advanceSaga(tx, ledger, withdrawalSaga, {
      id,
      from: status,
      to: 'failed',
      set: { error: reason },
      alongside: () => alongside(tx),
      settle: isBegun && wasAsked ? [{ ...first, end }] : [],
      // A held withdrawal has left the line already.
      drop: status === 'awaiting_liquidity' || (isBegun && !wasAsked) ? [first] : [],
      post: [returnPosting(withdrawal, { failed: reason })],
    }),
  );
}

/** Returns the gross amount after a failure or a cancellation, less the gas that is kept. */
export function returnPosting(withdrawal: Withdrawal, why: { readonly failed: string } | 'cancelled'): Posting {
  const { id, accountId, keyId, chain, address, gross, gasKept } = withdrawal;
  const isCancelled = why === 'cancelled';
  const back = subtract(gross, gasKept);
  return {
    type: 'withdrawal_returned',
    amount: back,
    entries: [
      { account: houseAccount('withdrawals_in_transit', gross.asset, chain), atomic: -gross.atomic },
      { account: sourceOf(withdrawal), atomic: back.atomic },
      ...(gasKept.atomic > 0n ? [{ account: houseAccount('fees', gross.asset, chain), atomic: gasKept.atomic }] : []),
    ],
    reference: `withdrawal:${id}:end`,
    description: isCancelled ? 'A withdrawal was cancelled.' : 'A withdrawal could not be paid out.',
    details: { withdrawalId: id, chain, address, ...(!isCancelled && { error: why.failed }) },
    ...(keyId !== null && { returns: { of: id, part: back.atomic, whole: gross.atomic } }),
    ...(accountId !== null && {
      recipientId: accountId,
      recipientEvent: isCancelled ? 'withdrawal.cancelled' : 'withdrawal.failed',
    }),
  };
}
