import { toTypeId } from '../../kernel/ids/typeid.ts';
import type { DecisionRecord } from './record.ts';

/**
 * Decisions wait for the chain as forms: canonical texts, to which the database adds what only it knows (migration 031, `written_decisions`).
 * JSON escapes both of these characters.
 */
const hole = '\u0001';
export const budgetDivider = '\u0002';

/** What all records about one chain of keys contain. */
export interface Written {
  readonly keys: string;
  readonly policies: string;
}

export function writeKeys(keys: readonly string[], policies: DecisionRecord['policies']): Written {
  return {
    keys: JSON.stringify(keys),
    policies: JSON.stringify(policies.map(({ key, version }) => ({ key, version }))),
  };
}

/** The database adds what remains of the budget, and what was taken. */
export function budgetBeginning({
  asset,
  id,
  key,
}: {
  readonly asset: string;
  readonly id: string;
  readonly key: string;
}) {
  return `${JSON.stringify({ asset, id, key }).slice(0, -1)},"remainingAfter":"`;
}

/** What was asked, by which key. */
export interface Asked extends Pick<DecisionRecord, 'account' | 'amount' | 'asset' | 'key' | 'operation'> {
  /** Undefined when the database adds the handle of the account that is paid. */
  readonly counterparty: string | null | undefined;
  readonly written: Written;
}

/** What was decided. */
export interface Decided extends Pick<DecisionRecord, 'approval' | 'code' | 'outcome' | 'posting'> {
  readonly decisionId: string;
  readonly count: number;
  readonly rule: { readonly key: string; readonly index: number } | null;
  /** Of a posting the beginning for each budget that it takes from; otherwise a list. */
  readonly budgets: string;
}

/**
 * The members in their canonical order, and the holes: the time, the handle, and after the end the number in the chain. Every payment under
 * policies writes one, so this takes two small objects: spreading them into one costs six times as much as the rest.
 */
export function formOf(asked: Asked, decided: Decided): string {
  const { account, amount, asset, counterparty, key, operation, written } = asked;
  const { approval, budgets, code, count, decisionId, outcome, posting, rule } = decided;
  const paid = counterparty === undefined ? '' : JSON.stringify(counterparty);
  const index = rule && { index: String(rule.index), key: rule.key };
  return (
    `{"account":${JSON.stringify(account)},"amount":"${amount}","approval":${JSON.stringify(approval)},"asset":"${asset}"` +
    `,"at":"${hole}${budgets}${hole}"code":${JSON.stringify(code)},"count":"${count}","counterparty":${paid}${hole}` +
    `,"id":"${toTypeId('dec', decisionId)}","key":${JSON.stringify(key)},"keys":${written.keys},"operation":"${operation}"` +
    `,"outcome":"${outcome}","policies":${written.policies},"posting":${JSON.stringify(posting)},"rule":${JSON.stringify(index)}`
  );
}
