/**
 * What rules mean, written a second time from the description alone: slow, plain, and without anything of src/policies.
 * Every fact about the counterparty is given.
 */
export interface ReferenceRule {
  readonly effect: 'allow' | 'deny' | 'ask';
  readonly operation?: readonly string[];
  readonly asset?: readonly string[];
  readonly amount?: { readonly lte?: number; readonly gt?: number };
  readonly counterparty?: readonly string[];
  readonly counterpartyIs?: string;
  readonly chain?: readonly string[];
  readonly hours?: {
    readonly from: string;
    readonly to: string;
    readonly days?: readonly string[];
    readonly timeZone: string;
  };
}

export interface ReferencePayment {
  readonly operation: string;
  readonly asset: string;
  /** As decimal text with all digits of the asset. */
  readonly amount: string;
  readonly chains: readonly string[];
  /** Every name that a rule may give the counterparty. Undefined when there is none. */
  readonly names: readonly string[] | undefined;
  readonly known: boolean;
  readonly verified: boolean;
  readonly at: Date;
}

export interface ReferenceAnswer {
  readonly outcome: 'allow' | 'deny' | 'ask';
  /** [policy, index of the rule], or null. */
  readonly rule: readonly [number, number] | null;
}

/** `policies` are the rules of each key, the caller's own first. Undefined for a key without rules. */
export function referenceAnswer(
  policies: readonly (readonly ReferenceRule[] | undefined)[],
  payment: ReferencePayment,
): ReferenceAnswer {
  const answers = policies.flatMap((rules, policy) => (rules === undefined ? [] : [answerOf(rules, policy, payment)]));
  for (const outcome of ['deny', 'ask', 'allow'] as const) {
    const found = answers.find((answer) => answer.outcome === outcome);
    if (found !== undefined) return found;
  }
  return { outcome: 'allow', rule: null };
}

function answerOf(rules: readonly ReferenceRule[], policy: number, payment: ReferencePayment): ReferenceAnswer {
  for (const effect of ['deny', 'ask', 'allow'] as const) {
    const index = rules.findIndex((rule) => rule.effect === effect && isMatch(rule, payment));
    if (index !== -1) return { outcome: effect, rule: [policy, index] };
  }
  return { outcome: 'deny', rule: null };
}

function isMatch(rule: ReferenceRule, payment: ReferencePayment): boolean {
  const { operation, asset, amount, counterparty, counterpartyIs, chain, hours } = rule;
  if (operation && !operation.includes(payment.operation)) return false;
  if (asset && !asset.includes(payment.asset)) return false;
  if (chain && !chain.some((one) => payment.chains.includes(one))) return false;
  if (amount?.lte !== undefined && compare(payment.amount, amount.lte) > 0) return false;
  if (amount?.gt !== undefined && compare(payment.amount, amount.gt) <= 0) return false;
  if (counterparty && !counterparty.some((name) => payment.names?.includes(name))) return false;
  if (counterpartyIs && payment.names === undefined) return false;
  if (counterpartyIs === 'known' && !payment.known) return false;
  if (counterpartyIs === 'new' && payment.known) return false;
  if (counterpartyIs === 'verified' && !payment.verified) return false;
  return hours === undefined || isWithin(hours, payment.at);
}

/** Compares decimal text with a number, digit by digit. Ten decimals of a bound are exact; a double has no twenty. */
function compare(text: string, bound: number): number {
  const toDigits = (decimal: string) => {
    const [whole = '', fraction = ''] = decimal.split('.');
    return BigInt(whole + fraction.padEnd(20, '0'));
  };
  const difference = toDigits(text) - toDigits(bound.toFixed(10));
  return difference > 0n ? 1 : difference < 0n ? -1 : 0;
}

/** Looks for a start of the hours, today or yesterday, that is not over yet. */
function isWithin({ from, to, days, timeZone }: NonNullable<ReferenceRule['hours']>, at: Date): boolean {
  const wall = new Date(`${at.toLocaleString('sv-SE', { timeZone }).replace(' ', 'T')}Z`);
  return [0, 1].some((daysAgo) => {
    const midnight = new Date(wall);
    midnight.setUTCHours(0, 0, 0, 0);
    midnight.setUTCDate(midnight.getUTCDate() - daysAgo);
    const name = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'][midnight.getUTCDay()] as string;
    const start = midnight.getTime() + minutes(from) * 60_000;
    const length = minutes(to) - minutes(from) + (minutes(to) < minutes(from) ? 24 * 60 : 0);
    const isOn = days === undefined || days.includes(name);
    return isOn && wall.getTime() >= start && wall.getTime() < start + length * 60_000;
  });
}

function minutes(time: string): number {
  const [hour = 0, minute = 0] = time.split(':').map(Number);
  return hour * 60 + minute;
}
