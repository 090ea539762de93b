import type { Feature } from '../../kernel/feature.ts';
import { type SagaDetails, sagaDetails } from '../../kernel/sagas/commands.ts';
import { listSteps } from './chain-step.ts';

const describeSteps: SagaDetails = async (db, sagaId) => {
  const steps = await listSteps(db, sagaId);
  return steps.map(
    ({ step, chain, state, id: key, walletId, providerRef, hash, blockNumber, reason }) =>
      `step ${step} on ${chain}: ${state}   key ${key}   wallet ${walletId ?? '-'}   reference ${providerRef ?? '-'}   transaction ${hash ?? '-'}   block ${blockNumber ?? '-'}${reason === null ? '' : `   ${reason}`}`,
  );
};

export const chainSteps: Feature = {
  name: 'chain-steps',
  hooks: [sagaDetails.on(describeSteps)],
};
