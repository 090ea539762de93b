import type { Clock } from '../kernel/clock.ts';
import type { Database } from '../kernel/db/database.ts';
import type { Caller } from '../kernel/http/define-route.ts';
import { Problem } from '../kernel/http/problem.ts';
import { balanceErrors, budgetRefusal } from '../ledger/balance-errors.ts';
import type { Authority, Spend } from '../ledger/posting.ts';
import type { ApprovalCase, ShownRule } from './approval-case.ts';
import { findExceeded, listBudgets } from './budget-states.ts';
import type { Consent, Payment } from './consent.ts';
import { allowedBy, type RefusalBook, refusedBy } from './decisions/judged.ts';
import { consentErrors } from './errors.ts';
import { createFactBook, type FactParts } from './facts.ts';
import { type KeyChain, keyAt, readChain } from './key-chain.ts';
import { createRates, type RateParts } from './rates.ts';
import {
  type Condition,
  type Facts,
  findUnmet,
  type Judgement,
  judge,
  type RuleAt,
  type Unmet,
  type Verdict,
} from './rules.ts';

export interface ConsentParts extends FactParts {
  readonly db: Database;
  /** The time that rules about hours go by. */
  readonly clock: Clock;
  readonly rates: RateParts;
  readonly refusals: RefusalBook;
}

/** Which rule decides about a payment, and what it would take. */
export interface Explanation {
  readonly rule: ShownRule | null;
  readonly unmet: { readonly rule: ShownRule; readonly condition: Condition } | null;
}

/** Consent, and for the simulation its reasons. */
export interface ExplainedConsent extends Consent {
  explain(caller: Caller, payment: Payment): Promise<Explanation>;
}

const mostRemembered = 10_000;
/** Policies can be long, so their length counts, too. */
const mostWeight = 16_000_000;

/** For an account that never had a policy. */
const free: Authority = { stamp: 0n, spends: [] };

export function createConsent(parts: ConsentParts): ExplainedConsent {
  const { db, clock, rates: rateParts, publicUrl, refusals } = parts;
  const remembered = new Map<string, KeyChain>();
  let weight = 0;
  const book = createFactBook({ db, publicUrl });
  const rates = createRates(rateParts);

  /** The policies of a key do not change without its stamp, so a chain with the caller's stamp is up to date. */
  function recall({ keyId, stamp }: Caller): KeyChain | undefined {
    const chain = stamp === undefined ? undefined : remembered.get(keyId);
    return chain?.stamp === stamp ? chain : undefined;
  }

  async function load({ keyId }: Caller): Promise<KeyChain> {
    const chain = await readChain(db, keyId);
    if (chain.stamp === 0n) return chain;
    forget(keyId);
    remembered.set(keyId, chain);
    weight += chain.weight;
    for (const oldest of remembered.keys()) {
      if (remembered.size <= mostRemembered && weight <= mostWeight) break;
      forget(oldest);
    }
    return chain;
  }

  function forget(keyId: string): void {
    weight -= remembered.get(keyId)?.weight ?? 0;
    remembered.delete(keyId);
  }

  /** The usual payment: allowed by what is in memory, in the currency of its budgets. Undefined for any other. */
  function authorizeAtOnce(chain: KeyChain, caller: Caller, payment: Payment): Authority | undefined {
    if (chain.isFrozen) return undefined;
    const facts = book.recall(payment.counterparty);
    const judged: Judgement =
      chain.rules.length === 0 ? unruled : judge(chain.rules, { payment, facts, nowMs: clock.now() });
    if ('needs' in judged || judged.outcome !== 'allow') return undefined;
    const { amount, operation } = payment;
    const spends: Spend[] = [];
    for (const { id, currency, operations } of chain.budgets) {
      if (operations !== undefined && !operations.has(operation)) continue;
      if (currency !== amount.asset) return undefined;
      spends.push({ budget: id, amount: amount.atomic });
    }
    const decision = allowedBy(refusals, { caller, payment, chain }, judged.rule);
    return decision === undefined ? { stamp: chain.stamp, spends } : { stamp: chain.stamp, spends, decision };
  }

  /** With facts and rates, or refused. */
  async function authorize(chain: KeyChain, caller: Caller, payment: Payment): Promise<Authority> {
    if (chain.isFrozen) throw consentErrors.key_frozen();
    const verdict = await judgeWithFacts(chain, caller, payment);
    if (verdict.outcome === 'deny') {
      const rule = await show(verdict.rule);
      throw consentErrors.rule_denied(explainDenial(rule), { members: { rule } });
    }
    const spends = await spendsOf(chain, payment);
    if (verdict.outcome === 'ask') throw await askOrRefuse(chain, caller, payment, { spends, verdict });
    const decision = allowedBy(refusals, { caller, payment, chain }, verdict.rule);
    return { stamp: chain.stamp, spends, ...(decision && { decision }) };
  }

  /** With the newest policies, for a request that asks the owner or that the owner has approved. */
  async function authorizeFor(approval: ApprovalCase, caller: Caller, payment: Payment): Promise<Authority> {
    approval.begin();
    const chain = await load(caller);
    if (chain.isFrozen) throw consentErrors.key_frozen();
    const { outcome, rule } = await judgeWithFacts(chain, caller, payment);
    const shown = await show(rule);
    if (outcome === 'deny') throw consentErrors.rule_denied(explainDenial(shown), { members: { rule: shown } });
    const { stamp } = chain;
    const spends = await spendsOf(chain, payment);
    if (payment.isMost) return { stamp, spends: [] };
    const budgets = await listBudgets(db, caller);
    const exceeded = findExceeded(budgets, spends);
    if (exceeded.some(({ onExceed }) => onExceed === 'deny')) throw budgetRefusal(exceeded);
    const { policies } = chain;
    const authority = await approval.consentTo({
      caller,
      payment,
      stamp,
      policies,
      outcome,
      rule: shown,
      spends,
      budgets,
    });
    const decision = allowedBy(refusals, { caller, payment, chain }, rule, approval.id);
    return { ...authority, ...(decision && { decision }) };
  }

  /** A budget that denies beats a rule that asks. */
  async function askOrRefuse(
    chain: KeyChain,
    caller: Caller,
    payment: Payment,
    { spends, verdict: { rule } }: { readonly spends: readonly Spend[]; readonly verdict: Verdict },
  ): Promise<Problem> {
    const exceeded = spends.length === 0 ? [] : findExceeded(await listBudgets(db, caller), spends);
    if (exceeded.some(({ onExceed }) => onExceed === 'deny')) {
      return refusedBy(refusals, { caller, payment, chain }, budgetRefusal(exceeded), exceeded);
    }
    return balanceErrors.approval_required(undefined, { members: { rule: await show(rule) } });
  }

  /** Asks for one fact after the other until the rules have their answer. */
  async function askFacts<Answer extends object>(
    { accountId }: Caller,
    { counterparty }: Payment,
    answer: (facts: Facts) => Answer | { readonly needs: keyof Facts },
  ): Promise<Answer> {
    let facts = book.recall(counterparty);
    for (;;) {
      const answered = answer(facts);
      if (!('needs' in answered)) return answered as Answer;
      if (counterparty === undefined) throw new Error('a rule asks about a counterparty that is not there');
      facts = { ...facts, ...(await book.ask(answered.needs, accountId, counterparty)) };
    }
  }

  function judgeWithFacts(chain: KeyChain, caller: Caller, payment: Payment): Promise<Verdict> {
    const nowMs = clock.now();
    return askFacts<Verdict>(caller, payment, (facts) => judge(chain.rules, { payment, facts, nowMs }));
  }

  /** What the payment takes from each budget that counts it. */
  function spendsOf({ budgets }: KeyChain, payment: Payment): Promise<readonly Spend[]> {
    const counting = budgets.filter(({ operations }) => operations?.has(payment.operation) ?? true);
    return Promise.all(
      counting.map(async ({ id, currency }) => ({
        budget: id,
        amount: await rates.inCurrency(payment.amount, currency),
      })),
    );
  }

  async function show(rule: RuleAt | null): Promise<ShownRule | null> {
    if (rule === null) return null;
    const { place, index } = rule;
    return { key: await keyAt(db, place), index };
  }

  /** A frozen account is refused before its keys are asked. Only a refused payment needs to look. */
  async function frozenFirst({ accountId }: Caller, refusal: unknown): Promise<unknown> {
    if (!(refusal instanceof Problem)) return refusal;
    const { rows } = await db.query<{ frozen: boolean }>(
      'SELECT frozen_at IS NOT NULL AS frozen FROM accounts WHERE id = $1',
      [accountId],
    );
    return rows[0]?.frozen === true ? balanceErrors.account_frozen() : refusal;
  }

  async function orRefuse(
    caller: Caller,
    ask: () => Authority | Promise<Authority>,
    onRefused: (refusal: Problem) => unknown = () => {},
  ): Promise<Authority> {
    try {
      return await ask();
    } catch (error) {
      const refusal = await frozenFirst(caller, error);
      if (refusal === error && refusal instanceof Problem) onRefused(refusal);
      throw refusal;
    }
  }

  async function forPaymentAtLast(caller: Caller, payment: Payment, chain: KeyChain | undefined): Promise<Authority> {
    let asked = chain;
    const ask = async () => {
      asked ??= await load(caller);
      return authorize(asked, caller, payment);
    };
    return orRefuse(caller, ask, (refusal) => asked && refusedBy(refusals, { caller, payment, chain: asked }, refusal));
  }

  return {
    forPayment(caller, payment) {
      const { approval } = caller;
      if (approval !== undefined)
        return orRefuse(caller, () => authorizeFor(approval as ApprovalCase, caller, payment));
      if (caller.stamp === 0n) return free;
      const chain = recall(caller);
      return (chain && authorizeAtOnce(chain, caller, payment)) ?? forPaymentAtLast(caller, payment, chain);
    },
    forOther(caller) {
      if (caller.stamp === 0n) return free;
      return orRefuse(caller, async () => {
        const { isFrozen, stamp } = recall(caller) ?? (await load(caller));
        if (isFrozen) throw consentErrors.key_frozen();
        return { stamp, spends: [] };
      });
    },
    async explain(caller, payment) {
      const chain = await load(caller);
      const { rule, unmatched } = await judgeWithFacts(chain, caller, payment);
      if (unmatched === undefined) return { rule: await show(rule), unmet: null };
      const nowMs = clock.now();
      const { unmet } = await askFacts<{ unmet: Unmet | null }>(caller, payment, (facts) => {
        const found = findUnmet(unmatched, { payment, facts, nowMs });
        return found !== null && 'needs' in found ? found : { unmet: found };
      });
      const shown = unmet && (await show(unmet.rule));
      return { rule: null, unmet: unmet && shown && { rule: shown, condition: unmet.condition } };
    },
  };
}

const unruled: Verdict = { outcome: 'allow', rule: null };

function explainDenial(rule: ShownRule | null): string | undefined {
  if (rule === null) return undefined;
  return `Rule ${rule.index} of the policy of the key ${rule.key} denies the payment. No money was moved.`;
}
