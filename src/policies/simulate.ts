import type { ReadDatabase } from '../kernel/db/database.ts';
import type { Caller } from '../kernel/http/define-route.ts';
import { Problem } from '../kernel/http/problem.ts';
import { balanceErrors, budgetRefusal } from '../ledger/balance-errors.ts';
import type { Spend } from '../ledger/posting.ts';
import { afterSpending, type BudgetState, findExceeded, listBudgets } from './budget-states.ts';
import type { ExplainedConsent, Explanation } from './create-consent.ts';
import type { AskedPayment } from './way.ts';

export interface SimulateParts {
  readonly readDb: ReadDatabase;
  readonly consent: ExplainedConsent;
}

export interface Simulated extends Explanation {
  readonly outcome: 'allow' | 'ask' | 'deny';
  /** Of the error that the payment would get. */
  readonly code: string | null;
  /** After the payment, if it is allowed. */
  readonly budgets: readonly BudgetState[];
}

/** Asks the same consent as a payment, with the newest policies, and judges the budgets as the ledger does. */
export async function simulate(
  { readDb, consent }: SimulateParts,
  caller: Caller,
  { payment, refuseBeyondLimits }: AskedPayment,
): Promise<Simulated> {
  const { stamp: _, ...fresh } = caller;
  const asked = await ask(() => consent.forPayment(fresh, payment));
  const states = await listBudgets(readDb, caller);
  const refused = 'refusal' in asked ? asked.refusal : findRefusal(states, asked.spends);
  const { rule, unmet } = await consent.explain(fresh, payment);
  if (refused === undefined) {
    await refuseBeyondLimits?.();
    return { outcome: 'allow', code: null, rule, unmet, budgets: afterSpending(states, asked.spends) };
  }
  const { code, extras } = refused;
  const isByRule = extras.members !== undefined && 'rule' in extras.members;
  return {
    outcome: code === balanceErrors.approval_required.code ? 'ask' : 'deny',
    code,
    rule: isByRule ? rule : null,
    unmet: isByRule ? unmet : null,
    budgets: states,
  };
}

type Asked = { readonly spends: readonly Spend[] } | { readonly refusal: Problem; readonly spends: readonly never[] };

async function ask(forPayment: () => ReturnType<ExplainedConsent['forPayment']>): Promise<Asked> {
  try {
    return { spends: (await forPayment()).spends };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return { refusal: error, spends: [] };
  }
}

function findRefusal(states: readonly BudgetState[], spends: readonly Spend[]): Problem | undefined {
  const exceeded = findExceeded(states, spends);
  return exceeded.length === 0 ? undefined : (budgetRefusal(exceeded) as Problem);
}
