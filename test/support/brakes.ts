import type { OutgoingLimits } from '../../src/custody/limits/outgoing-limits.ts';

/** Nothing keeps money from leaving. */
export const noBrakes: OutgoingLimits = {
  perDay: { free: undefined, pro: undefined, enterprise: undefined },
  perHour: undefined,
  allowListDelayHours: 24,
};
