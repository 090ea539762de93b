import type { SagaStep } from '../../kernel/sagas/run-saga.ts';
import { keyFrozen } from '../../policies/frozen.ts';
import { failWithdrawal } from './finish-withdrawal.ts';
import { holdIfFrozen, requireAccountNotFrozen } from './hold-withdrawal.ts';
import { beginWrapping } from './unwrap.ts';
import { isNative, type Withdrawal, type WithdrawalSagaParts } from './withdrawal.ts';

/**
 * The key that asked for it was frozen before the provider was asked: the whole amount returns. Native coin that is unwrapped is
 * wrapped again first, and then the gas is kept. If the account is frozen, too, the operator decides.
 */
export async function stopWithdrawal(parts: WithdrawalSagaParts, withdrawal: Withdrawal): Promise<SagaStep> {
  const { db, logger } = parts;
  const isUnwrapped = isNative(withdrawal) && withdrawal.status === 'sending';
  const giveBack = isUnwrapped ? beginWrapping : failWithdrawal;
  try {
    await giveBack(parts, withdrawal, { neverAsked: keyFrozen }, (tx) => requireAccountNotFrozen(tx, withdrawal));
  } catch (error) {
    const held = await holdIfFrozen(db, withdrawal, error);
    return typeof held === 'string' ? 'rest' : held;
  }
  logger.warn({ withdrawal: withdrawal.id }, `a withdrawal was stopped: ${keyFrozen}`);
  return 'go_on';
}
