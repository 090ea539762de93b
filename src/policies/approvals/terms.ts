import { createHash } from 'node:crypto';
import type { Queryable } from '../../kernel/db/database.ts';
import { amountOf, toText } from '../../money/amount.ts';
import type { JudgedPayment, ShownRule } from '../approval-case.ts';
import { afterSpending, type BudgetState, describeBudget } from '../budget-states.ts';
import type { Counterparty, Fact, Operation } from '../consent.ts';

/** A fact as it is kept: plain JSON. */
export interface KeptFact extends Pick<Fact, 'label' | 'text' | 'quoted'> {
  readonly least?: string;
}

/** A payment as the owner is asked about it. Exactly this is paid, or nothing. */
export interface Terms {
  readonly operation: Operation;
  /** Everything that leaves the balance. */
  readonly amount: string;
  readonly currency: string;
  /** In atomic units. */
  readonly atomic: string;
  /** By a name that cannot change, such as the number of an account. */
  readonly payee: string | null;
  /** By the name that people know it by. */
  readonly to: string | null;
  readonly chains: readonly string[];
  readonly facts: readonly KeptFact[];
  /** Of the keys that were asked, by their places. */
  readonly policies: JudgedPayment['policies'];
}

type ShownBudget = ReturnType<typeof describeBudget>;

/** A budget before and after the payment, and what the owner would give beyond it. */
export interface BudgetEffect extends Omit<ShownBudget, 'operations' | 'spent' | 'remaining' | 'resetsAt'> {
  readonly before: string;
  readonly after: string;
  readonly beyond: string | null;
  /** In atomic units: what the payment takes of it, and what of that is beyond it. */
  readonly takes: string;
  readonly missing: string;
}

/** What the owner is shown. */
export interface Shown {
  readonly terms: Terms;
  /** Null where only a budget asks. */
  readonly rule: ShownRule | null;
  readonly budgets: readonly BudgetEffect[];
}

export async function termsOf(db: Queryable, { payment, policies }: JudgedPayment): Promise<Terms> {
  const { operation, amount, counterparty } = payment;
  const payee = counterparty === undefined ? null : payeeOf(counterparty);
  const { to, facts } = await describePayee(db, counterparty);
  return {
    operation,
    amount: toText(amount),
    currency: amount.asset,
    atomic: String(amount.atomic),
    payee,
    to,
    chains: payment.chains,
    facts: [...facts, ...(payment.facts?.() ?? []).map(keep)],
    policies,
  };
}

export function shownOf(terms: Terms, { rule, outcome, budgets, spends }: JudgedPayment): Shown {
  const after = afterSpending(budgets, spends);
  const effects = budgets.flatMap((budget, index) => {
    const spend = spends.find((one) => one.budget === budget.budget)?.amount ?? 0n;
    if (spend === 0n) return [];
    const { operations: _, spent: before, remaining, resetsAt, ...shown } = describeBudget(budget);
    const missing = missingOf(spend, budget);
    const spent = describeBudget(after[index] as typeof budget).spent;
    const isBeyond = missing > 0n;
    const beyond = isBeyond ? toText(amountOf(budget.limit.asset, missing)) : null;
    const exact = { takes: String(spend), missing: String(missing) };
    return [{ ...shown, before, after: isBeyond ? shown.limit : spent, beyond, ...exact }];
  });
  return { terms, rule: outcome === 'ask' ? rule : null, budgets: effects };
}

/** What a budget does not cover. */
export function missingOf(amount: bigint, { remaining }: Pick<BudgetState, 'remaining'>): bigint {
  return amount > remaining.atomic ? amount - remaining.atomic : 0n;
}

/**
 * The budgets that the payment would take more of than was shown, or exceed by more. A rate that moves by less than one percent is no
 * change.
 */
export function budgetsSince(shown: readonly BudgetEffect[], now: readonly BudgetEffect[]): readonly string[] {
  return now
    .filter((budget) => {
      const before = shown.find(({ key, id }) => key === budget.key && id === budget.id);
      if (before === undefined) return true;
      const takesMore = BigInt(budget.takes) * 100n > BigInt(before.takes) * 101n;
      return takesMore || BigInt(budget.missing) > BigInt(before.missing);
    })
    .map(({ id }) => `Budget ${id}`);
}

function keep({ label, text, quoted, promise }: Fact): KeptFact {
  return { label, text, ...(quoted && { quoted }), ...(promise && { least: String(promise.least) }) };
}

function payeeOf(counterparty: Counterparty): string {
  switch (counterparty.kind) {
    case 'account':
      return `account:${counterparty.accountId}`;
    case 'address':
      return `address:${counterparty.address.toLowerCase()}`;
    case 'shop':
      return `shop:${counterparty.domain}:${counterparty.owner}`;
    case 'endpoint':
      return `endpoint:${counterparty.host}`;
  }
}

/** An account may change its name, so the name belongs to the terms. */
export async function describePayee(
  db: Queryable,
  counterparty: Counterparty | undefined,
): Promise<{ readonly to: string | null; readonly facts: readonly KeptFact[] }> {
  switch (counterparty?.kind) {
    case undefined:
      return { to: null, facts: [] };
    case 'account':
      return describeAccount(db, counterparty.accountId);
    case 'address':
      return { to: counterparty.address, facts: [] };
    case 'shop':
      return { to: counterparty.domain, facts: [] };
    case 'endpoint':
      return { to: counterparty.host, facts: [] };
  }
}

async function describeAccount(db: Queryable, accountId: bigint) {
  const { rows } = await db.query<{ name: string; handle: string; email: boolean; phone: boolean }>(
    `SELECT name, handle, email IS NOT NULL AND email_verified_at IS NOT NULL AS email, phone IS NOT NULL AS phone
       FROM accounts WHERE id = $1`,
    [accountId],
  );
  const [row] = rows;
  if (row === undefined) return { to: null, facts: [] };
  const { name, handle, email, phone } = row;
  const verified = [...(email ? ['email'] : []), ...(phone ? ['phone number'] : [])].join(' and ');
  const text =
    verified === '' ? 'Nothing. The name is their own word.' : `Their ${verified}. The name is their own word.`;
  return { to: `${name} (${handle})`, facts: [{ label: 'Verified', text }] };
}

/**
 * Of the operation: who asks for what, without what changes all the time. `place` is that of the key, which a rotation keeps. A payment
 * that is meant once more, beside the one that its body names, is another one.
 */
export function digestOf(place: string, { facts, ...terms }: Terms, body: unknown): Buffer {
  const stable = facts.map(({ text, least, ...fact }) => ({ ...fact, ...(least === undefined && { text }) }));
  const { notDuplicateOf } = (body ?? {}) as { readonly notDuplicateOf?: unknown };
  return sha256([place, { ...terms, facts: stable }, ...(typeof notDuplicateOf === 'string' ? [notDuplicateOf] : [])]);
}

/** Of everything that the owner is shown. */
export function hashOfShown(shown: Shown): Buffer {
  return sha256(shown);
}

function sha256(content: unknown): Buffer {
  return createHash('sha256').update(JSON.stringify(content)).digest();
}

/** What is no longer as it was shown, by the names that the owner sees. */
export function changesSince(shown: Terms, now: Terms, facts: readonly Fact[]): readonly string[] {
  const changed: string[] = [];
  if (shown.operation !== now.operation || shown.atomic !== now.atomic || shown.currency !== now.currency)
    changed.push('Amount');
  if (shown.payee !== now.payee || shown.to !== now.to) changed.push('Recipient');
  if (JSON.stringify(shown.chains) !== JSON.stringify(now.chains)) changed.push('Chain');
  const labels = new Set([...shown.facts, ...now.facts].map(({ label }) => label));
  for (const label of labels) {
    const [before, after] = [shown, now].map((terms) => terms.facts.filter((fact) => fact.label === label));
    if (!isKept(before ?? [], after ?? [], facts)) changed.push(label);
  }
  if (JSON.stringify(shown.policies) !== JSON.stringify(now.policies)) changed.push('Policy');
  return changed;
}

/** A promise holds as long as what is there now is no less. */
function isKept(before: readonly KeptFact[], after: readonly KeptFact[], facts: readonly Fact[]): boolean {
  const [one, other] = [before[0], after[0]];
  if (one?.least !== undefined && other?.least !== undefined) {
    const actual = facts.find(({ label }) => label === one.label)?.promise?.actual;
    return actual !== undefined && actual >= BigInt(one.least);
  }
  return JSON.stringify(before) === JSON.stringify(after);
}

const verbs: Readonly<Record<Operation, (amount: string, to: string | null) => string>> = {
  transfer: (amount, to) => `Transfer ${amount} to ${to}`,
  invoice: (amount, to) => `Pay an invoice over ${amount} from ${to}`,
  withdraw: (amount, to) => `Withdraw ${amount} to ${to}`,
  bridge: (amount) => `Move ${amount} to another chain`,
  swap: (amount) => `Swap ${amount}`,
  order: (amount, to) => `Order for ${amount} from ${to}`,
  call: (amount, to) => `Pay ${amount} for a call of ${to}`,
};

/** "Transfer 8 USDC to Grace Hopper (PA-7K2M9QXA)". */
export function sayTerms({ operation, amount, to }: Terms): string {
  return verbs[operation](amount, to);
}
