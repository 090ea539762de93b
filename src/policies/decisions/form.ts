import { createHash } from 'node:crypto';
import type { DecisionTemplate } from '../../ledger/posting.ts';
import type { DecisionRecord } from './record.ts';

/**
 * Decisions wait for the chain as forms: canonical texts, to which the database adds what only it knows (`written_decisions`, migration
 * 036). Allowed payments store what their forms have in common once, as a template. JSON escapes these three characters.
 */
const hole = '\u0001';
export const budgetDivider = '\u0002';
const partDivider = '\u0003';

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

/** What the records about payments of one key have in common. */
export interface Common extends Pick<DecisionRecord, 'account' | 'asset' | 'code' | 'key' | 'operation' | 'outcome'> {
  readonly count: number;
  readonly rule: { readonly key: string; readonly index: number } | null;
  /** Of a posting the beginning for each budget that it takes from; otherwise a list. */
  readonly budgets: string;
  readonly written: Written;
}

/** What is different in each of them. */
export interface Parts extends Pick<DecisionRecord, 'amount' | 'approval'> {
  /** Undefined when the database adds the handle of the account that is paid. */
  readonly counterparty: string | null | undefined;
  /** Of the record and of its posting, as TypeIDs. */
  readonly id: string;
  readonly posting: string | null;
}

/** The members in their canonical order, and the holes: the time, the handle, and after the end the number in the chain. */
function write(common: Common, [amount, approval, counterparty, id, posting]: PartTexts): string {
  const { account, asset, budgets, code, count, key, operation, outcome, rule, written } = common;
  const index = rule && { index: String(rule.index), key: rule.key };
  return (
    `{"account":${JSON.stringify(account)},"amount":${amount},"approval":${approval},"asset":"${asset}"` +
    `,"at":"${hole}${budgets}${hole}"code":${JSON.stringify(code)},"count":"${count}","counterparty":${counterparty}${hole}` +
    `,"id":${id},"key":${JSON.stringify(key)},"keys":${written.keys},"operation":"${operation}"` +
    `,"outcome":"${outcome}","policies":${written.policies},"posting":${posting},"rule":${JSON.stringify(index)}`
  );
}

/** In the order of the canonical text. */
type PartTexts = readonly [amount: string, approval: string, counterparty: string, id: string, posting: string];

function partTexts({ amount, approval, counterparty, id, posting }: Parts): PartTexts {
  const paid = counterparty === undefined ? '' : JSON.stringify(counterparty);
  return [`"${amount}"`, approval === null ? 'null' : JSON.stringify(approval), paid, `"${id}"`, idText(posting)];
}

function idText(id: string | null): string {
  return id === null ? 'null' : `"${id}"`;
}

export function formOf(common: Common, parts: Parts): string {
  return write(common, partTexts(parts));
}

const noParts: PartTexts = [partDivider, partDivider, partDivider, partDivider, partDivider];

export function templateOf(common: Common): DecisionTemplate {
  const form = write(common, noParts);
  // Half a hash is enough, as for idempotency keys. The database checks it.
  return { id: createHash('sha256').update(form).digest('hex').slice(0, 32), keyId: common.key, form };
}

/** What the database puts into the template. */
export function partsOf(parts: Parts): string {
  return partTexts(parts).join(partDivider);
}
