import { encodeUnwrap } from '../../chains/wrapped-coin.ts';
import { planStep } from '../../custody/steps/plan-step.ts';
import { settleStep } from '../../custody/steps/settle-step.ts';
import { type StepEnd, takeStep } from '../../custody/steps/take-step.ts';
import { noCheckpoint } from '../../kernel/sagas/checkpoint.ts';
import type { SagaStep } from '../../kernel/sagas/run-saga.ts';
import { houseAccount } from '../../ledger/account-id.ts';
import { postSurely } from '../../ledger/post-surely.ts';
import { goOnUnlessStopped, holdIfFrozen, isHeldByScreening, requireNotFrozen } from './clear.ts';
import { failWithdrawal } from './finish-withdrawal.ts';
import { findRecipientFault, tokenToPay } from './native-coin.ts';
import type { WithdrawalSagaParts } from './parts.ts';
import { withdrawalSaga } from './saga.ts';
import { payStep, stepWallet, unwrapStep, type Withdrawal } from './withdrawal.ts';
import { beginWrapping } from './wrap-again.ts';

/** Unwrapping: the treasury gives back wrapped coin and gets as much native coin for it. */
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
 * The payment is planned in the same commit: as long as a step is open the wallet counts as busy, and what is unwrapped in it is
 * not taken for the operator's own and moved, should the wallet be retired.
 */
async function settleUnwrapping(
  { db, ledger }: WithdrawalSagaParts,
  { id, chain, net }: Withdrawal,
  end: Extract<StepEnd, { state: 'confirmed' }>,
): Promise<void> {
  await db.transaction(async (tx) => {
    const { rowCount } = await tx.query(
      "UPDATE withdrawals SET status = 'unwrapped', updated_at = now() WHERE id = $1 AND status = 'unwrapping'",
      [id],
    );
    if (rowCount === 0) return;
    const wallet = await stepWallet(tx, unwrapStep(id));
    const gas = await settleStep(tx, unwrapStep(id), end);
    // Native coin is no token: nothing of it is promised to anybody else.
    await planStep(tx, { saga: withdrawalSaga.name, ...payStep(id), chain, wallet });
    await postSurely(tx, ledger, [
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
      ...(gas ?? []),
    ]);
  });
}

/**
 * Unwrapped: it may have taken long, so the screening, the account and the recipient are looked at once more before it leaves. A
 * contract can have changed its mind, and would take as much gas as it likes.
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
