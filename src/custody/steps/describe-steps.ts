import type { SagaDetails } from '../../kernel/sagas/saga-details.ts';
import { listSteps } from './chain-step.ts';

export const describeSteps: SagaDetails = async (db, sagaId) => {
  const steps = await listSteps(db, sagaId);
  return steps.map(
    ({ step, chain, state, id: key, walletId, providerRef, hash, blockNumber, reason }) =>
      `step ${step} on ${chain}: ${state}   key ${key}   wallet ${walletId ?? '-'}   reference ${providerRef ?? '-'}   transaction ${hash ?? '-'}   block ${blockNumber ?? '-'}${reason === null ? '' : `   ${reason}`}`,
  );
};
