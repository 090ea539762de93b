import { GivenAmount } from '../../../kernel/http/amount-field.ts';
import type { Fields } from '../../../kernel/http/parse-form.ts';
import { type FieldError, Problem } from '../../../kernel/http/problem.ts';
import { validate } from '../../../kernel/http/validate.ts';
import { expandExponent } from '../../../money/amount.ts';
import { currencies } from '../../../money/catalogue.ts';
import { type Operation, operations } from '../../../policies/consent.ts';
import { type Budget, type Policy, policyBody, toPolicy, versionOf } from '../../../policies/policy.ts';

export const limitWindows = ['day', 'week', 'month'] as const;

type LimitWindow = (typeof limitWindows)[number];

/** What the form of a policy holds, as entered. An empty limit is none. */
export interface PolicyForm {
  readonly currency: string;
  readonly limits: Readonly<Record<LimitWindow, string>>;
  readonly beyond: string;
  readonly askAbove: string;
  readonly asksNew: boolean;
  readonly operations: readonly Operation[];
}

/** A member of the form, or null for an error that belongs to none. */
type PolicyField = LimitWindow | 'currency' | 'beyond' | 'askAbove' | 'operations' | null;

export interface PolicyFault {
  readonly field: PolicyField;
  readonly message: string;
}

export const emptyForm: PolicyForm = {
  currency: currencies[0] as string,
  limits: { day: '', week: '', month: '' },
  beyond: 'deny',
  askAbove: '',
  asksNew: false,
  operations,
};

export function readPolicyForm(fields: Fields): PolicyForm {
  const text = (name: string) => (fields[name] ?? '').trim();
  return {
    currency: text('currency'),
    limits: { day: text('day'), week: text('week'), month: text('month') },
    beyond: text('beyond'),
    askAbove: text('askAbove'),
    asksNew: fields['askNew'] !== undefined,
    operations: operations.filter((operation) => fields[`may-${operation}`] !== undefined),
  };
}

/**
 * The policy that the form describes, by the same rules as over the API. It allows payments in the currency of the form only, because a
 * limit for one payment counts in the asset of the payment: with other assets an agent could go around it.
 */
export function policyOf(
  form: PolicyForm,
  before: Policy | undefined,
): { readonly policy: Policy } | { readonly faults: readonly PolicyFault[] } {
  const limited = limitWindows.filter((window) => form.limits[window] !== '');
  const what = {
    asset: [form.currency],
    ...(form.operations.length < operations.length && { operation: form.operations }),
  };
  const rules = [
    { effect: 'allow', ...what },
    ...(form.askAbove === '' ? [] : [{ effect: 'ask', ...what, amount: { gt: numberOf(form.askAbove) } }]),
    ...(form.asksNew ? [{ effect: 'ask', ...what, counterpartyIs: 'new' }] : []),
  ];
  const budgets = limited.map((window) => ({
    id: idFor({ window, currency: form.currency }, before),
    amount: form.limits[window],
    currency: form.currency,
    window,
    onExceed: form.beyond,
  }));
  try {
    return { policy: toPolicy(validate('body', policyBody, { rules, budgets }) as never) };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return { faults: faultsOf(error, limited) };
  }
}

/** Text that is no plain number stays as it is, and is refused. */
function numberOf(text: string): number | string {
  return new GivenAmount(text).toJSON();
}

type Limit = Pick<Budget, 'window' | 'currency'>;

/** A limit that the policy had before keeps its id, and with it what was spent. */
function idFor({ window, currency }: { readonly window: string; readonly currency: string }, before?: Policy): string {
  const same = before?.budgets.find(
    (budget) => isPlain(budget) && budget.window === window && budget.currency === currency,
  );
  return same?.id ?? `${currency.toLowerCase()}-${window}`;
}

const isPlain = ({ timeZone, operations: counted }: Budget) => timeZone === 'UTC' && counted === undefined;

/** One fault for a member of the form, which several members of the policy may come from. */
export function faultsOf(problem: Problem, limited: readonly LimitWindow[] = []): PolicyFault[] {
  const found = new Map<PolicyField, string>();
  for (const { path, message } of problem.extras.errors ?? []) {
    const field = fieldAt(path, limited);
    if (!found.has(field)) found.set(field, field === null ? `${path} ${message}` : message);
  }
  if (found.size === 0) found.set(null, problem.message);
  return [...found].map(([field, message]) => ({ field, message }));
}

function fieldAt(path: FieldError['path'], limited: readonly LimitWindow[]): PolicyField {
  const [list, index, member] = path.split('.');
  if (member === 'asset' || member === 'currency') return 'currency';
  if (list === 'rules' && member === 'amount') return 'askAbove';
  if (list === 'rules' && member === 'operation') return 'operations';
  if (list === 'budgets' && member === 'onExceed') return 'beyond';
  if (list === 'budgets' && member === 'amount') return limited[Number(index)] ?? null;
  return null;
}

/** How the form shows a policy. Undefined where it cannot: saving it would change the policy. */
export function formOf(policy: Policy): PolicyForm | undefined {
  const form = guess(policy);
  const again = policyOf(form, policy);
  return 'policy' in again && versionOf(again.policy) === versionOf(policy) ? form : undefined;
}

/** Takes from a policy what the form has members for. */
export function guess({ rules = [], budgets }: Policy): PolicyForm {
  const [allow] = rules;
  const asked = rules.filter(({ effect }) => effect === 'ask');
  const limit = (window: Limit['window']) => textOf(budgets.find((budget) => budget.window === window)?.amount);
  return {
    currency:
      [...(allow?.asset ?? []), ...budgets.map(({ currency }) => currency)].find(isCurrency) ?? emptyForm.currency,
    limits: { day: limit('day'), week: limit('week'), month: limit('month') },
    beyond: budgets[0]?.onExceed ?? emptyForm.beyond,
    askAbove: textOf(asked.map(({ amount }) => amount?.gt).find((bound) => bound !== undefined)),
    asksNew: asked.some(({ counterpartyIs }) => counterpartyIs === 'new'),
    operations: allow?.operation ?? operations,
  };
}

const isCurrency = (asset: string) => (currencies as readonly string[]).includes(asset);

function textOf(number: number | undefined): string {
  return number === undefined ? '' : expandExponent(String(number));
}
