import { encodeUnwrap } from '../../chains/wrapped-coin.ts';
import { advanceSaga } from '../../custody/steps/advance-saga.ts';
import { type StepEnd, takeStep } from '../../custody/steps/take-step.ts';
import { stepToWrap, type Wrapping, wrapCoin, wrapStep } from '../../custody/steps/wrap-coin.ts';
import type { HouseWallet } from '../../custody/wallets/house-wallets.ts';
import type { Database, Transaction } from '../../kernel/db/database.ts';
import { noCheckpoint } from '../../kernel/sagas/checkpoint.ts';
import type { SagaStep } from '../../kernel/sagas/run-saga.ts';
import { wakeSaga } from '../../kernel/sagas/wake-saga.ts';
import { houseAccount } from '../../ledger/account-id.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { amountOf } from '../../money/amount.ts';
import { keyFrozen } from '../../policies/frozen.ts';
import { failWithdrawal, returnPosting } from './finish-withdrawal.ts';
import { advanceUnlessHeld, holdIfFrozen, isHeldByScreening, requireNotFrozen } from './hold-withdrawal.ts';
import { findRecipientFault, tokenToPay } from './native-coin.ts';
import { withdrawalSaga } from './saga.ts';
import { payStep, stepWallet, unwrapStep, type Withdrawal, type WithdrawalSagaParts } from './withdrawal.ts';

/**
 * The unwrapped coin was not paid: it is wrapped again before it is returned. One commit, with the caller's own writes: it settles a payment
 * that failed and drops one that was never submitted. False when it was over before.
 */
export async function beginWrapping(
  { db, ledger }: { readonly db: Database; readonly ledger: Ledger },
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

/**
 * Wrapping: the owner is refunded once the wrapped token has arrived in the treasury. If a frozen key is the cause, the gas is
 * kept: otherwise whoever freezes a key could have us unwrap and wrap for nothing.
 */
export async function wrapAgain(parts: WithdrawalSagaParts, withdrawal: Withdrawal): Promise<SagaStep> {
  const { db, ledger } = parts;
  const { id, error, gas } = withdrawal;
  const gasKept = error === keyFrozen ? gas : amountOf(gas.asset, 0n);
  const wrapped = await wrapCoin(parts, wrappingOf(withdrawal, await stepWallet(db, wrapStep(id))));
  if (!('ended' in wrapped)) return wrapped;
  await db.transaction((tx) =>
    advanceSaga(tx, ledger, withdrawalSaga, {
      id,
      from: 'wrapping',
      to: 'failed',
      set: { gasKept: gasKept.atomic },
      settle: wrapped.ended,
      post: [
        ...wrapped.surplus,
        returnPosting({ ...withdrawal, gasKept }, { failed: error ?? 'It could not be paid.' }),
      ],
    }),
  );
  return 'rest';
}

function wrappingOf({ id, chain, net }: Withdrawal, wallet: HouseWallet): Wrapping {
  return { saga: withdrawalSaga.name, sagaId: id, chain, wallet, amount: net, recipient: wallet.address };
}

/** Unwrapping: the treasury exchanges wrapped coin for the same amount of native coin. */
export async function unwrap(parts: WithdrawalSagaParts, withdrawal: Withdrawal): Promise<SagaStep> {
  const { db, networks, logger, checkpoint = noCheckpoint } = parts;
  const { id, net } = withdrawal;
  const progress = await takeStep(
    parts,
    unwrapStep(id),
    (from) => ({ from, contract: tokenToPay(networks, withdrawal), data: encodeUnwrap(net.atomic) }),
    (tx) => requireNotFrozen(tx, withdrawal),
  ).catch((error: unknown) => holdIfFrozen(db, withdrawal, error));
  if (progress === 'held') return 'rest';
  if (progress === 'stopped') {
    await failWithdrawal(parts, withdrawal, { neverAsked: keyFrozen });
    return 'rest';
  }
  if (progress.state === 'waiting') return progress;
  if (progress.state === 'failed') {
    await failWithdrawal(parts, withdrawal, progress);
    logger.warn({ withdrawal: id }, `a withdrawal failed: ${progress.reason}`);
    return 'rest';
  }
  await settleUnwrapping(parts, withdrawal, progress);
  checkpoint('withdrawal.unwrapped');
  return 'go_on';
}

/**
 * The payment is planned in the same commit: while a step is open the wallet counts as busy, so the unwrapped coin is not mistaken for
 * the operator's own gas and moved away if the wallet is retired.
 */
async function settleUnwrapping(
  { db, ledger }: WithdrawalSagaParts,
  { id, chain, net }: Withdrawal,
  end: Extract<StepEnd, { state: 'confirmed' }>,
): Promise<void> {
  await db.transaction((tx) =>
    advanceSaga(tx, ledger, withdrawalSaga, {
      id,
      from: 'unwrapping',
      to: 'unwrapped',
      settle: [{ ...unwrapStep(id), end }],
      // Native coin is no token, so the step sets nothing aside.
      plan: async () => [{ ...payStep(id), chain, wallet: await stepWallet(tx, unwrapStep(id)) }],
      post: [
        {
          type: 'withdrawal_unwrapped',
          amount: net,
          entries: [
            { account: houseAccount('custody', net.asset, chain), atomic: net.atomic },
            { account: houseAccount('unwrapped_in_transit', net.asset, chain), atomic: -net.atomic },
          ],
          reference: `withdrawal:${id}:unwrapped`,
          details: { withdrawalId: id, chain, txHash: end.hash },
        },
      ],
    }),
  );
}

/**
 * Unwrapped: that may have taken long, so the screening, the account and the recipient are checked again. A recipient that is a contract
 * may refuse native coin by now, or use any amount of gas.
 */
export async function lookOnceMore(parts: WithdrawalSagaParts, withdrawal: Withdrawal): Promise<SagaStep> {
  const { db, networks, logger, checkpoint = noCheckpoint } = parts;
  if (await isHeldByScreening(parts, withdrawal)) return 'rest';
  const { address: sender } = await stepWallet(db, payStep(withdrawal.id));
  const reason = await findRecipientFault(db, networks, withdrawal, sender);
  if (reason !== undefined) {
    await beginWrapping(parts, withdrawal, { neverAsked: reason });
    logger.warn({ withdrawal: withdrawal.id }, `a withdrawal failed: ${reason}`);
    return 'go_on';
  }
  if (!(await advanceUnlessHeld(parts, withdrawal, { to: 'sending', step: payStep(withdrawal.id).step })))
    return 'rest';
  checkpoint('withdrawal.looked_at');
  return 'go_on';
}
