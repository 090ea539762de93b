import type { Brakes } from '../../src/custody/limits/brakes.ts';

/** Nothing keeps money from leaving. */
export const noBrakes: Brakes = {
  perDay: { free: undefined, pro: undefined, enterprise: undefined },
  perHour: undefined,
  allowListDelayHours: 24,
};
