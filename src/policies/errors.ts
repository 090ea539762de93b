import { accountErrors } from '../accounts/errors.ts';
import { defineErrors } from '../kernel/http/problem.ts';

export const policyErrors = defineErrors({
  policy_not_found: {
    status: 404,
    title: 'No policy',
    detail: 'This key has no policy of its own. The policies of the keys above it still apply to it.',
  },
  policy_changed: {
    status: 412,
    title: 'Policy changed',
    detail:
      'The policy is no longer the one that If-Match names, and was left as it is. Read it again, and decide whether your change still applies.',
  },
});

const refusals = defineErrors({
  rule_denied: {
    status: 403,
    title: 'Denied by a rule',
    detail:
      'The policy of this key, or of a key above it, denies the payment. No money was moved. `rule` names the rule, and is null when no rule allows the payment. POST /account/policy/simulate tells which condition does not hold.',
  },
  rate_unavailable: {
    status: 403,
    title: 'Exchange rate unavailable',
    detail:
      'A budget counts in another currency than the payment, and no exchange rate is available. No money was moved. Pay in the currency of the budget, or try again later.',
  },
});

/** Why a key, or a key above it, does not consent to a payment. */
export const consentErrors = { ...refusals, key_frozen: accountErrors.key_frozen };
