import { advanceSaga } from '../../custody/steps/advance-saga.ts';
import type { SagaParts } from '../../custody/steps/chain-step.ts';
import type { StepEnd } from '../../custody/steps/take-step.ts';
import type { Transaction } from '../../kernel/db/database.ts';
import { houseAccount } from '../../ledger/account-id.ts';
import type { Posting } from '../../ledger/posting.ts';
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
  end: Extract<StepEnd, { state: 'failed' }>,
  alongside: (tx: Transaction) => Promise<void> = async () => {},
): Promise<boolean> {
  const { id, status } = withdrawal;
  const first = firstStep(withdrawal);
  const wasAsked = status === 'sending' || status === 'unwrapping';
  return db.transaction((tx) =>
    advanceSaga(tx, ledger, withdrawalSaga, {
      id,
      from: status,
      to: 'failed',
      set: { error: end.reason },
      alongside: () => alongside(tx),
      settle: wasAsked ? [{ ...first, end }] : [],
      // A held withdrawal has left the line already.
      drop: status === 'awaiting_liquidity' ? [first] : [],
      post: [returnPosting(withdrawal, { failed: end.reason })],
    }),
  );
}

/** Returns the gross amount after a failure or a cancellation. */
export function returnPosting(withdrawal: Withdrawal, why: { readonly failed: string } | 'cancelled'): Posting {
  const { id, accountId, chain, address, gross } = withdrawal;
  const isCancelled = why === 'cancelled';
  return {
    type: 'withdrawal_returned',
    amount: gross,
    entries: [
      { account: houseAccount('withdrawals_in_transit', gross.asset, chain), atomic: -gross.atomic },
      { account: sourceOf(withdrawal), atomic: gross.atomic },
    ],
    reference: `withdrawal:${id}:end`,
    description: isCancelled ? 'A withdrawal was cancelled.' : 'A withdrawal could not be paid out.',
    details: { withdrawalId: id, chain, address, ...(!isCancelled && { error: why.failed }) },
    ...(accountId !== null && {
      recipientId: accountId,
      recipientEvent: isCancelled ? 'withdrawal.cancelled' : 'withdrawal.failed',
    }),
  };
}
