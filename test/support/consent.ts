import { features } from '../../src/app/features.ts';
import type { ListedFeature } from '../../src/app/listed-feature.ts';
import type { Authority } from '../../src/ledger/posting.ts';
import type { Consent, Payment } from '../../src/policies/consent.ts';

/** The authority of an account that never had a policy. */
export const noPolicies: Authority = { stamp: 0n, spends: [] };

export const freeConsent: Consent = { forPayment: () => noPolicies, forOther: () => noPolicies };

/** Allows everything and takes it from one budget of each account, in USDC. Its owner's stamp is 1, if there is one. */
export function createSpendingConsent() {
  const budgets = new Map<bigint, bigint>();
  const asked: Payment[] = [];
  const consent: Consent = {
    forPayment({ accountId }, payment) {
      const budget = budgets.get(accountId);
      if (budget === undefined) return noPolicies;
      asked.push(payment);
      return { stamp: 1n, spends: [{ budget, amount: payment.amount.atomic }] };
    },
    forOther: () => noPolicies,
  };
  return { consent, budgets, asked };
}

/** All features, whose requests ask this consent. */
export function featuresAsking(consent: Consent): readonly ListedFeature[] {
  return features.map((feature) => {
    const { routes } = feature;
    if (routes === undefined) return feature;
    return {
      ...feature,
      routes: (parts, settings) =>
        routes.call(feature, { ...parts, consent: { ...parts.consent, ...consent } }, settings),
    };
  });
}
