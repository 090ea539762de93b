import { isDeepStrictEqual } from 'node:util';
import type { Budget, Policy, Rule } from './policy.ts';

/**
 * Whether a change may allow a payment that was refused or asked about before. Whatever is not surely narrower counts as
 * wider: the owner gets one mail too many rather than one too few.
 */
export function isWider(before: Policy | undefined, after: Policy | undefined): boolean {
  if (before === undefined) return false;
  if (after === undefined) return true;
  return before.budgets.some((budget) => isLooser(budget, after)) || areWider(before.rules, after.rules);
}

function isLooser(before: Budget, { budgets }: Policy): boolean {
  const after = budgets.find(({ id }) => id === before.id);
  if (after === undefined || after.amount > before.amount) return true;
  if (before.onExceed === 'deny' && after.onExceed === 'ask') return true;
  return !covers(after.operations, before.operations);
}

/**
 * Every rule that denied or asked must still be there, or one that covers it, and every rule that allows must be covered by one
 * that did. A new rule that asks allows nothing without the owner.
 */
function areWider(before: readonly Rule[] | undefined, after: readonly Rule[] | undefined): boolean {
  if (before === undefined) return false;
  if (after === undefined) return true;
  const of = (rules: readonly Rule[], ...effects: Rule['effect'][]) =>
    rules.filter(({ effect }) => effects.includes(effect));
  const isKept = (rule: Rule, among: readonly Rule[]) => among.some((other) => includes(other, rule));
  return (
    of(before, 'deny').some((rule) => !isKept(rule, of(after, 'deny'))) ||
    of(before, 'ask').some((rule) => !isKept(rule, of(after, 'deny', 'ask'))) ||
    of(after, 'allow').some((rule) => !isKept(rule, of(before, 'allow')))
  );
}

/** Whether `wide` surely matches every payment that `narrow` matches. */
function includes(wide: Rule, narrow: Rule): boolean {
  return (
    covers(wide.operation, narrow.operation) &&
    covers(wide.asset, narrow.asset) &&
    covers(wide.chain, narrow.chain) &&
    covers(wide.counterparty, narrow.counterparty) &&
    (wide.counterpartyIs === undefined || wide.counterpartyIs === narrow.counterpartyIs) &&
    (wide.amount?.lte ?? Number.POSITIVE_INFINITY) >= (narrow.amount?.lte ?? Number.POSITIVE_INFINITY) &&
    (wide.amount?.gt ?? -1) <= (narrow.amount?.gt ?? -1) &&
    (wide.hours === undefined || isDeepStrictEqual(wide.hours, narrow.hours))
  );
}

/** Left out means everything. */
function covers(wide: readonly string[] | undefined, narrow: readonly string[] | undefined): boolean {
  if (wide === undefined) return true;
  return narrow?.every((item) => wide.includes(item)) ?? false;
}
