import type { Feature } from '../../kernel/feature.ts';
import { sagaDetails } from '../../kernel/sagas/saga-details.ts';
import { describeSteps } from './describe-steps.ts';

export const chainSteps: Feature = {
  name: 'chain-steps',
  hooks: [sagaDetails.on(describeSteps)],
};
