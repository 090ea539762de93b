import type { Feature } from '../feature.ts';
import { sagaDetails } from '../sagas/saga-details.ts';
import { describeSteps } from './describe-steps.ts';

export const chainSteps: Feature = {
  name: 'chain-steps',
  hooks: [sagaDetails.on(describeSteps)],
};
