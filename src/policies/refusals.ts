import { paymentErrors } from '../ledger/balance-errors.ts';
import { consentErrors } from './errors.ts';

/** Errors of every payment that a key asks for. */
export const paymentRefusals = [
  ...paymentErrors,
  consentErrors.key_frozen,
  consentErrors.rule_denied,
  consentErrors.rate_unavailable,
] as const;
