import { advanceSaga } from '../../custody/steps/advance-saga.ts';
import type { StepEnd } from '../../custody/steps/take-step.ts';
import { stepToWrap, type Wrapping, wrapCoin, wrapStep } from '../../custody/steps/wrap-coin.ts';
import type { HouseWallet } from '../../custody/wallets/house-wallets.ts';
import type { Database, Transaction } from '../../kernel/db/database.ts';
import type { SagaStep } from '../../kernel/sagas/run-saga.ts';
import { wakeSaga } from '../../kernel/sagas/wake-saga.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { returnPosting } from './finish-withdrawal.ts';
import type { WithdrawalSagaParts } from './parts.ts';
import { withdrawalSaga } from './saga.ts';
import { payStep, stepWallet, type Withdrawal } from './withdrawal.ts';

interface WrapParts {
  readonly db: Database;
  readonly ledger: Ledger;
}

/**
 * The unwrapped coin was not paid: it is wrapped again before it is returned. One commit, with the caller's own writes: it settles a payment
 * that failed and drops one that was never submitted. False when it was over before.
 */
export async function beginWrapping(
  { db, ledger }: WrapParts,
  withdrawal: Withdrawal,
  end: Extract<StepEnd, { state: 'failed' }> | { readonly neverAsked: string },
  alongside: (tx: Transaction) => Promise<void> = async () => {},
): Promise<boolean> {
  const { id, chain, status } = withdrawal;
  const wasAsked = 'state' in end;
  const reason = wasAsked ? end.reason : end.neverAsked;
  return db.transaction((tx) =>
    advanceSaga(tx, ledger, withdrawalSaga, {
      id,
      from: status,
      to: 'wrapping',
      set: { error: reason },
      alongside: async () => {
        await alongside(tx);
        // A held withdrawal has no job.
        if (!wasAsked) await wakeSaga(tx, { saga: withdrawalSaga.name, id, lane: chain });
      },
      ...(wasAsked ? { settle: [{ ...payStep(id), end }] } : { drop: [payStep(id)] }),
      plan: async () => [stepToWrap(wrappingOf(withdrawal, await stepWallet(tx, payStep(id))))],
    }),
  );
}

/** Wrapping: the owner is refunded once the wrapped token has arrived in the treasury. */
export async function wrapAgain(parts: WithdrawalSagaParts, withdrawal: Withdrawal): Promise<SagaStep> {
  const { db, ledger } = parts;
  const { id, error } = withdrawal;
  const wrapped = await wrapCoin(parts, wrappingOf(withdrawal, await stepWallet(db, wrapStep(id))));
  if (!('ended' in wrapped)) return wrapped;
  await db.transaction((tx) =>
    advanceSaga(tx, ledger, withdrawalSaga, {
      id,
      from: 'wrapping',
      to: 'failed',
      settle: wrapped.ended,
      post: [...wrapped.surplus, returnPosting(withdrawal, { failed: error ?? 'It could not be paid.' })],
    }),
  );
  return 'rest';
}

function wrappingOf({ id, chain, net }: Withdrawal, wallet: HouseWallet): Wrapping {
  return { saga: withdrawalSaga.name, sagaId: id, chain, wallet, amount: net, recipient: wallet.address };
}
