import type { Caller } from '../../kernel/http/define-route.ts';
import type { Problem } from '../../kernel/http/problem.ts';
import { toTypeId } from '../../kernel/ids/typeid.ts';
import { balanceErrors } from '../../ledger/balance-errors.ts';
import type { Decision, DecisionTemplate, ExceededBudget, Spend } from '../../ledger/posting.ts';
import { toDecimalText } from '../../money/amount.ts';
import type { Counterparty, Payment } from '../consent.ts';
import type { KeyChain } from '../key-chain.ts';
import type { RuleAt } from '../rules.ts';
import { budgetBeginning, budgetDivider, formOf, partsOf, templateOf, type Written, writeKeys } from './form.ts';

/** A payment, and the policies that were asked about it. */
export interface Judged {
  readonly caller: Caller;
  readonly payment: Payment;
  readonly chain: KeyChain;
}

/** A refused payment. */
export interface Refusal extends Pick<Caller, 'accountId' | 'keyId' | 'tier'> {
  readonly outcome: 'deny' | 'ask';
  readonly payee: bigint | undefined;
  /** The same for all refusals of the key with the same reason. */
  readonly reason: string;
  form(counted: { readonly decisionId: string; readonly count: number }): string;
}

/**
 * Records refused payments. Nothing is posted for them, so they are written later: a crash loses those of the last minute. Refusals of
 * one key with one reason are counted together, and those of an account are capped per day.
 */
export interface RefusalBook {
  /** Returns at once. */
  note(refusal: Refusal): void;
  /** Writes everything that was noted. */
  stop(): Promise<void>;
}

/** What the records about payments of one chain of keys contain, written once. */
interface OfChain extends Written {
  readonly budgets: ReadonlyMap<bigint, string>;
  /** By the rule that allows, which is another object for every operation and asset, or by these two where no key has rules. */
  readonly templates: Map<RuleAt | string, AllowedTemplate>;
}

interface AllowedTemplate {
  readonly template: DecisionTemplate;
  readonly spends: readonly Spend[];
}

const written = new WeakMap<KeyChain, OfChain>();
const mostTemplates = 100;

function writtenOf(chain: KeyChain): OfChain {
  const known = written.get(chain);
  if (known !== undefined) return known;
  const budgets = chain.budgets.map(({ id, place, name, currency }) => {
    return [id, budgetBeginning({ asset: currency, id: name, key: keyAt(chain, place) })] as const;
  });
  const policies = chain.policies.map(({ place, version }) => ({ key: keyAt(chain, place), version }));
  const made: OfChain = {
    ...writeKeys([...chain.keys.values()], policies),
    budgets: new Map(budgets),
    templates: new Map(),
  };
  written.set(chain, made);
  return made;
}

function keyAt({ keys }: KeyChain, place: string): string {
  return keys.get(place) ?? place;
}

function describe({ caller, payment, chain }: Judged) {
  return {
    account: caller.handle,
    key: caller.keyId,
    operation: payment.operation,
    asset: payment.amount.asset,
    written: writtenOf(chain),
  };
}

/** An account is paid under its handle, which the database adds. */
function payeeOf({ counterparty }: Payment): bigint | undefined {
  return counterparty?.kind === 'account' ? counterparty.accountId : undefined;
}

/** Undefined for an account. */
function nameOf(counterparty: Counterparty | undefined): string | null | undefined {
  switch (counterparty?.kind) {
    case undefined:
      return null;
    case 'account':
      return undefined;
    case 'address':
      return counterparty.address;
    case 'shop':
      return counterparty.domain;
    case 'endpoint':
      return counterparty.host;
  }
}

/** The decision to allow a payment, for its posting. Undefined where no key of the chain has a policy. */
export function allowedBy(
  refusals: RefusalBook,
  judged: Judged,
  rule: RuleAt | null,
  approval: string | null = null,
): Decision | undefined {
  const { chain, payment } = judged;
  if (chain.policies.length === 0) return undefined;
  return {
    payee: payeeOf(payment),
    template: (spends) => allowedTemplate(judged, rule, spends),
    parts: ({ decisionId, id }) =>
      partsOf({
        amount: toDecimalText(payment.amount),
        approval,
        counterparty: nameOf(payment.counterparty),
        id: toTypeId('dec', decisionId),
        posting: id,
      }),
    refused: (problem, exceeded) => void refusedBy(refusals, judged, problem, exceeded),
  };
}

function allowedTemplate(judged: Judged, rule: RuleAt | null, spends: readonly Spend[]): DecisionTemplate {
  const { chain, payment } = judged;
  const { budgets, templates } = writtenOf(chain);
  const which = rule ?? `${payment.operation} ${payment.amount.asset}`;
  const known = templates.get(which);
  if (known !== undefined && haveSameBudgets(known.spends, spends)) return known.template;
  const rising = spends.toSorted((left, right) => (left.budget < right.budget ? -1 : 1));
  const template = templateOf({
    ...describe(judged),
    outcome: 'allow',
    code: null,
    count: 1,
    rule: rule && { index: rule.index, key: keyAt(chain, rule.place) },
    budgets: rising.map(({ budget }) => beginningOf(budgets, budget)).join(budgetDivider),
  });
  if (templates.size >= mostTemplates) templates.clear();
  templates.set(which, { template, spends });
  return template;
}

function haveSameBudgets(some: readonly Spend[], others: readonly Spend[]): boolean {
  if (some.length !== others.length) return false;
  for (let at = 0; at < some.length; at++) if (some[at]?.budget !== others[at]?.budget) return false;
  return true;
}

function beginningOf(budgets: ReadonlyMap<bigint, string>, budget: bigint): string {
  const beginning = budgets.get(budget);
  if (beginning === undefined) throw new Error(`the payment takes of the budget ${budget}, which was not asked`);
  return beginning;
}

/** A record of a refusal stays small, however many budgets do not cover the payment. */
const mostExceeded = 10;

/** Has a refusal recorded once a client is answered with it. What is known already stays. Returns it. */
export function refusedBy(
  refusals: RefusalBook,
  judged: Judged,
  problem: Problem,
  exceeded: readonly ExceededBudget[] = [],
): Problem {
  const { caller, chain, payment } = judged;
  if (chain.policies.length === 0 || problem.whenSent !== undefined) return problem;
  const { code, extras } = problem;
  const { accountId, keyId, tier } = caller;
  const rule = (extras.members?.['rule'] ?? null) as { readonly key: string; readonly index: number } | null;
  const beyond = exceeded.slice(0, mostExceeded).map(({ key, id, remaining }) => {
    const left = toDecimalText(remaining);
    return { asset: remaining.asset, id, key, remainingAfter: left, remainingBefore: left, taken: '0' };
  });
  const outcome: Refusal['outcome'] = code === balanceErrors.approval_required.code ? 'ask' : 'deny';
  const common = { ...describe(judged), outcome, code, rule, budgets: JSON.stringify(beyond) };
  const parts = {
    amount: toDecimalText(payment.amount),
    approval: null,
    counterparty: nameOf(payment.counterparty),
    posting: null,
  };
  problem.whenSent = () =>
    refusals.note({
      accountId,
      keyId,
      tier,
      outcome,
      payee: payeeOf(payment),
      reason: JSON.stringify([keyId, code, rule, beyond.map(({ key, id }) => [key, id])]),
      form: ({ decisionId, count }) => formOf({ ...common, count }, { ...parts, id: toTypeId('dec', decisionId) }),
    });
  return problem;
}
