import { expandExponent } from '../money/amount.ts';
import { type Asset, assets } from '../money/catalogue.ts';
import type { Payment } from './consent.ts';
import { kindOfName } from './counterparty-name.ts';
import { dayNames, type Effect, type Rule } from './policy.ts';
import { localTime } from './time-zone.ts';

/** What the database knows about a counterparty. Whatever is left out was not asked yet. */
export interface Facts {
  /** Of an account. It never changes. */
  readonly handle?: string;
  /** The verified email and phone number of an account. */
  readonly contact?: { readonly email: string | null; readonly phone: string | null };
  readonly known?: boolean;
  readonly verified?: boolean;
}

export type FactName = keyof Facts;

/** The members of a rule, in the order in which they are checked: those that need the database come last. */
export const conditions = ['operation', 'asset', 'chain', 'amount', 'hours', 'counterparty', 'counterpartyIs'] as const;

export type Condition = (typeof conditions)[number];

/** A payment at a moment. */
export interface Question {
  readonly payment: Payment;
  readonly facts: Facts;
  readonly nowMs: number;
}

/** Whether a condition holds, or the fact that decides it. */
type Holds = (question: Question) => boolean | FactName;

interface CompiledRule {
  readonly index: number;
  readonly effect: Effect;
  readonly bounds: Bounds;
  readonly checks: readonly { readonly condition: Condition; readonly holds: Holds }[];
}

/** The rules of one key, with those first that beat the others. */
export interface CompiledRules {
  readonly place: string;
  readonly rules: readonly CompiledRule[];
  /** Those that may match payments of an operation in an asset. Filled when the first one is judged. */
  readonly selected: Map<Payment['operation'], Map<Asset, readonly SelectedRule[]>>;
}

/** A rule whose operation and asset match. */
interface SelectedRule {
  readonly verdict: Verdict;
  /** Of the amount, in the atomic units of the asset. */
  readonly most: bigint | undefined;
  readonly more: bigint | undefined;
  readonly others: readonly Holds[];
}

export interface RuleAt {
  readonly place: string;
  readonly index: number;
}

export interface Verdict {
  readonly outcome: Effect;
  /** The rule that decided, the same object for all payments of an operation in an asset. Null when none matched, or when no key of the chain has rules. */
  readonly rule: RuleAt | null;
  /** The key whose rules did not match. Only where that is why the payment is denied. */
  readonly unmatched?: CompiledRules;
}

/** The answer, or the fact without which there is none. */
export type Judgement = Verdict | { readonly needs: FactName };

const strength: Readonly<Record<Effect, number>> = { deny: 0, ask: 1, allow: 2 };

/** Turns rules into functions once, so that a payment only calls them. */
export function compileRules(place: string, rules: readonly Rule[]): CompiledRules {
  const compiled = rules.map((rule, index) => ({
    index,
    effect: rule.effect,
    bounds: boundsOf(rule),
    checks: conditions.flatMap((condition) => {
      const holds = compilers[condition](rule);
      return holds === undefined ? [] : [{ condition, holds }];
    }),
  }));
  const rising = compiled.toSorted((one, other) => strength[one.effect] - strength[other.effect]);
  return { place, rules: rising, selected: new Map() };
}

const selectedBy: ReadonlySet<Condition> = new Set(['operation', 'asset', 'amount']);

/** Most rules are about other payments, or about the amount, which needs no call. */
function select(compiled: CompiledRules, question: Question): readonly SelectedRule[] {
  const { operation, amount } = question.payment;
  const { asset } = amount;
  const known = compiled.selected.get(operation)?.get(asset);
  if (known !== undefined) return known;
  const { place, rules, selected } = compiled;
  const matches = ({ condition, holds }: CompiledRule['checks'][number]) =>
    (condition !== 'operation' && condition !== 'asset') || holds(question) === true;
  const found = rules
    .filter(({ checks }) => checks.every(matches))
    .map(({ index, effect, bounds: { most, more }, checks }): SelectedRule => {
      return {
        verdict: { outcome: effect, rule: { place, index } },
        most: most?.[asset],
        more: more?.[asset],
        others: checks.flatMap(({ condition, holds }) => (selectedBy.has(condition) ? [] : [holds])),
      };
    });
  const ofOperation = selected.get(operation);
  if (ofOperation === undefined) selected.set(operation, new Map([[asset, found]]));
  else ofOperation.set(asset, found);
  return found;
}

/**
 * Asks every key that has rules, the caller's own first and then upward. One that denies is enough; otherwise one that
 * asks is. A fact is asked for only when a rule depends on it alone.
 */
export function judge(chain: readonly CompiledRules[], question: Question): Judgement {
  let asks: Verdict | undefined;
  let allows: Verdict | undefined;
  for (const rules of chain) {
    const verdict = judgeOne(rules, question);
    if ('needs' in verdict || verdict.outcome === 'deny') return verdict;
    if (verdict.outcome === 'ask') asks ??= verdict;
    else allows ??= verdict;
  }
  return asks ?? allows ?? { outcome: 'allow', rule: null };
}

function judgeOne(compiled: CompiledRules, question: Question): Judgement {
  const { atomic } = question.payment.amount;
  const rules = select(compiled, question);
  for (let at = 0; at < rules.length; at++) {
    const { verdict, most, more, others } = rules[at] as SelectedRule;
    if ((most !== undefined && atomic > most) || (more !== undefined && atomic <= more)) continue;
    const matches = allHold(others, question);
    if (typeof matches === 'string') return { needs: matches };
    if (matches) return verdict;
  }
  return { outcome: 'deny', rule: null, unmatched: compiled };
}

function allHold(checks: readonly Holds[], question: Question): boolean | FactName {
  for (const holds of checks) {
    const met = holds(question);
    if (met !== true) return met;
  }
  return true;
}

export interface Unmet {
  readonly rule: RuleAt;
  readonly condition: Condition;
}

/**
 * Why no rule let a payment through: of the rules that allow or ask, the one with the fewest conditions that do not hold, the
 * first of several, and the first of these conditions. Null when there is no such rule.
 */
export function findUnmet({ place, rules }: CompiledRules, question: Question): Unmet | null | { needs: FactName } {
  let nearest: { readonly index: number; readonly unmet: readonly Condition[] } | undefined;
  for (const { effect, index, checks } of rules) {
    if (effect === 'deny') continue;
    const unmet: Condition[] = [];
    for (const { condition, holds } of checks) {
      const met = holds(question);
      if (typeof met === 'string') return { needs: met };
      if (!met) unmet.push(condition);
    }
    const isNearer = nearest === undefined || unmet.length < nearest.unmet.length;
    const isEarlier = unmet.length === nearest?.unmet.length && index < nearest.index;
    if (isNearer || isEarlier) nearest = { index, unmet };
  }
  const [condition] = nearest?.unmet ?? [];
  return nearest && condition ? { rule: { place, index: nearest.index }, condition } : null;
}

/** Undefined where the rule does not have the member. */
const compilers: Readonly<Record<Condition, (rule: Rule) => Holds | undefined>> = {
  operation: ({ operation }) =>
    operation &&
    (
      (set) =>
      ({ payment }) =>
        set.has(payment.operation)
    )(new Set(operation)),
  asset: ({ asset }) =>
    asset &&
    (
      (set) =>
      ({ payment }) =>
        set.has(payment.amount.asset)
    )(new Set<Asset>(asset)),
  chain: ({ chain }) =>
    chain &&
    (
      (set) =>
      ({ payment }) =>
        payment.chains.some((one) => set.has(one))
    )(new Set(chain)),
  amount: (rule) => rule.amount && compileAmount(rule),
  hours: ({ hours }) => hours && compileHours(hours),
  counterparty: ({ counterparty }) => counterparty && compileNames(counterparty),
  counterpartyIs: ({ counterpartyIs }) => counterpartyIs && compileKind(counterpartyIs),
};

function compileAmount(rule: Rule): Holds {
  const { most, more } = boundsOf(rule);
  return ({ payment: { amount } }) =>
    (most === undefined || amount.atomic <= most[amount.asset]) &&
    (more === undefined || amount.atomic > more[amount.asset]);
}

/** Bounds of an amount, in the atomic units of each asset. */
interface Bounds {
  readonly most: Readonly<Record<Asset, bigint>> | undefined;
  readonly more: Readonly<Record<Asset, bigint>> | undefined;
}

function boundsOf({ amount: { lte, gt } = {} }: Rule): Bounds {
  return { most: lte === undefined ? undefined : inAssets(lte), more: gt === undefined ? undefined : inAssets(gt) };
}

/** Rounding down is exact: amounts are whole numbers of atomic units. */
function inAssets(bound: number): Readonly<Record<Asset, bigint>> {
  const [whole = '0', fraction = ''] = expandExponent(String(bound)).split('.');
  const all = Object.entries(assets).map(([asset, { decimals }]) => {
    return [asset, BigInt(whole + fraction.slice(0, decimals).padEnd(decimals, '0'))];
  });
  return Object.fromEntries(all) as Record<Asset, bigint>;
}

function compileHours({ from, to, days, timeZone }: NonNullable<Rule['hours']>): Holds {
  const [start, end] = [minuteOf(from), minuteOf(to)];
  const isOn = dayNames.map((name) => days === undefined || days.includes(name));
  return ({ nowMs }) => {
    const { day, minute } = localTime(timeZone, nowMs);
    if (start < end) return isOn[day] === true && minute >= start && minute < end;
    // After midnight the hours are those of the day before.
    return minute >= start ? isOn[day] === true : minute < end && isOn[(day + 6) % 7] === true;
  };
}

function minuteOf(time: string): number {
  return Number(time.slice(0, 2)) * 60 + Number(time.slice(3));
}

function compileNames(names: readonly string[]): Holds {
  const of = (kind: ReturnType<typeof kindOfName>) => new Set(names.filter((name) => kindOfName(name) === kind));
  const [handles, emails, phones] = [of('handle'), of('email'), of('phone')];
  const [addresses, hosts] = [of('address'), of('host')];
  const shops = new Set([...hosts].map((host) => host.replace(/^www\.(?=.+\.)/, '')));

  function isAccount({ handle, contact }: Facts): boolean | FactName {
    if (handles.size > 0) {
      if (handle === undefined) return 'handle';
      if (handles.has(handle)) return true;
    }
    if (emails.size === 0 && phones.size === 0) return false;
    if (contact === undefined) return 'contact';
    return (
      (contact.email !== null && emails.has(contact.email)) || (contact.phone !== null && phones.has(contact.phone))
    );
  }

  /** A name without a port means every port. */
  const isHost = (host: string) => hosts.has(host) || hosts.has(host.replace(/:\d+$/, ''));

  return ({ payment: { counterparty }, facts }) => {
    switch (counterparty?.kind) {
      case undefined:
        return false;
      case 'account':
        return isAccount(facts);
      case 'address':
        return addresses.has(counterparty.address.toLowerCase());
      case 'shop':
        return shops.has(counterparty.domain.toLowerCase());
      case 'endpoint':
        return isHost(counterparty.host.toLowerCase());
    }
  };
}

function compileKind(kind: NonNullable<Rule['counterpartyIs']>): Holds {
  if (kind === 'verified')
    return ({ payment, facts }) => payment.counterparty !== undefined && (facts.verified ?? 'verified');
  return ({ payment, facts }) => {
    if (payment.counterparty === undefined) return false;
    return facts.known === undefined ? 'known' : facts.known === (kind === 'known');
  };
}
