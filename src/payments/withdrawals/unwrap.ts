import { encodeUnwrap } from '../../chains/wrapped-coin.ts';
import { advanceSaga } from '../../custody/steps/advance-saga.ts';
import { type StepEnd, takeStep } from '../../custody/steps/take-step.ts';
import { noCheckpoint } from '../../kernel/sagas/checkpoint.ts';
import type { SagaStep } from '../../kernel/sagas/run-saga.ts';
import { houseAccount } from '../../ledger/account-id.ts';
import { goOnUnlessStopped, holdIfFrozen, isHeldByScreening, requireNotFrozen } from './clear.ts';
import { failWithdrawal } from './finish-withdrawal.ts';
import { findRecipientFault, tokenToPay } from './native-coin.ts';
import type { WithdrawalSagaParts } from './parts.ts';
import { withdrawalSaga } from './saga.ts';
import { payStep, stepWallet, unwrapStep, type Withdrawal } from './withdrawal.ts';
import { beginWrapping } from './wrap-again.ts';

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
  if (!(await goOnUnlessStopped(parts, withdrawal, { to: 'sending', step: payStep(withdrawal.id).step })))
    return 'rest';
  checkpoint('withdrawal.looked_at');
  return 'go_on';
}
