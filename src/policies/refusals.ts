import { balanceErrors } from '../ledger/balance-errors.ts';
import { consentErrors } from './errors.ts';

/** Errors of every payment that a key asks for. */
export const paymentRefusals = [
  balanceErrors.insufficient_balance,
  balanceErrors.account_frozen,
  balanceErrors.budget_exceeded,
  consentErrors.key_frozen,
  consentErrors.rule_denied,
  consentErrors.rate_unavailable,
] as const;
