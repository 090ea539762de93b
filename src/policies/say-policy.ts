import { expandExponent } from '../money/amount.ts';
import { chains } from '../money/catalogue.ts';
import { listed } from '../money/in-words.ts';
import type { Operation } from './consent.ts';
import type { Budget, dayNames, Effect, Policy, Rule } from './policy.ts';

/**
 * A policy as one sentence for its owner: first what it allows, then its other limits, each in a clause. Whatever the sentence
 * does not allow is refused, and every condition of a rule is in it.
 */
export function sayPolicy({ rules = [{ effect: 'allow' }], budgets }: Policy): string {
  const of = (effect: Effect) => rules.filter((rule) => rule.effect === effect);
  const [allowed, asked, denied] = [of('allow'), of('ask'), of('deny')];
  const usual = { asset: shared(allowed, 'asset'), operation: shared(allowed, 'operation') };
  const isTotal = ({ operations }: Budget) => operations === undefined;
  const partial = budgets.filter((budget) => allowed.length === 0 || !isTotal(budget)).map(sayBudget);
  const clauses = [
    allowed.length === 0 ? sayNothing(asked) : `May spend ${sayAllowed(allowed, budgets.filter(isTotal))}`,
    ...(partial.length > 0 ? [`at most ${listed(partial)}`] : []),
    ...denied.map((rule) => `refuses ${sayPayments(rule, usual)}`),
    ...sayAsked(asked, budgets, usual),
    ...(allowed.length === 0 && asked.length > 0 && !asked.some(isUnconditional) ? ['refuses everything else'] : []),
  ];
  return `${clauses.join('; ')}.`;
}

/** What all rules that allow have in common, so that other clauses need not repeat it. Undefined where anything is allowed. */
interface Usual {
  readonly asset: Rule['asset'];
  readonly operation: Rule['operation'];
}

function shared<Member extends keyof Usual>(allowed: readonly Rule[], member: Member): Rule[Member] {
  const [first, ...others] = allowed.map((rule) => rule[member]);
  return others.every((other) => isSame(other, first)) ? first : undefined;
}

const isSame = (one: readonly string[] | undefined, other: readonly string[] | undefined) =>
  one?.join() === other?.join();

const isUnconditional = (rule: Rule) => Object.keys(rule).length === 1;

function sayNothing(asked: readonly Rule[]): string {
  return asked.length === 0 ? 'May spend nothing' : 'May spend nothing without your approval';
}

/** "20 USDC a day", or with its conditions "20 USDC a day in any asset on calls of at most 1 USDC each". */
function sayAllowed(allowed: readonly Rule[], totals: readonly Budget[]): string {
  const [first] = allowed;
  const isAssetShared = allowed.every(({ asset }) => isSame(asset, first?.asset));
  const ways = allowed.map((rule) => {
    const conditions = sayConditions(rule, isAssetShared ? undefined : sayAsset(rule.asset));
    if (rule.operation === undefined && conditions === '') return allowed.length === 1 ? '' : ' on any payment';
    return ` on ${sayOperations(rule.operation)}${conditions}`;
  });
  const isAssetSaid = !isAssetShared || allowed.every(({ amount }) => amount !== undefined);
  return `${sayTotals(totals, isAssetSaid ? undefined : { asset: first?.asset })}${ways.join(', or')}`;
}

/** The asset is left out where it is the currency of the budgets, or is said elsewhere. */
function sayTotals(totals: readonly Budget[], said: Pick<Rule, 'asset'> | undefined): string {
  if (totals.length === 0) return said === undefined ? 'any amount' : `any amount of ${nameAssets(said.asset)}`;
  const text = listed(totals.map(sayBudget));
  if (said === undefined || totals.every(({ currency }) => isSame(said.asset, [currency]))) return text;
  return `${text} ${sayAsset(said.asset)}`;
}

/** Short reasons together, and every other one in a clause of its own. */
function sayAsked(asked: readonly Rule[], budgets: readonly Budget[], usual: Usual): string[] {
  const short: string[] = [];
  const long: string[] = [];
  for (const rule of asked) {
    const reason = sayShortly(rule, usual);
    if (reason === undefined) long.push(`asks you before ${sayPayments(rule, usual)}`);
    else short.push(reason);
  }
  const beyond = budgets.filter(({ onExceed }) => onExceed === 'ask').map(sayBudget);
  if (beyond.length > 0) short.push(`beyond ${listed(beyond, 'or')}`);
  return [...(short.length > 0 ? [`asks you ${listed(short)}`] : []), ...long];
}

/** "above 5 USDC" or "before paying anyone new", for a rule that has no other condition. */
function sayShortly({ effect: _, ...rule }: Rule, usual: Usual): string | undefined {
  const { operation, asset, amount, counterpartyIs, ...others } = rule;
  if (Object.keys(others).length > 0 || !isSame(operation, usual.operation)) return undefined;
  if (amount !== undefined) {
    const isBound = amount.gt !== undefined && amount.lte === undefined && counterpartyIs === undefined;
    return isBound ? `above ${sayNumber(amount.gt)} ${nameUnits(asset)}` : undefined;
  }
  if (!isSame(asset, usual.asset)) return undefined;
  return counterpartyIs === undefined ? 'before every payment' : `before paying ${kinds[counterpartyIs].alone}`;
}

/** "transfers and calls of more than 5 USDC each to anyone new". */
function sayPayments(rule: Rule, usual: Usual): string {
  const conditions = sayConditions(rule, isSame(rule.asset, usual.asset) ? undefined : sayAsset(rule.asset));
  const isAnyKind = rule.operation === undefined && (usual.operation !== undefined || conditions === '');
  return `${isAnyKind ? 'payments of every kind' : sayOperations(rule.operation)}${conditions}`;
}

/** All conditions but the operation. `inAsset` is left out where the asset was said before; an amount names it anyway. */
function sayConditions(rule: Rule, inAsset: string | undefined): string {
  const { amount, asset, chain, hours } = rule;
  const parts = [
    amount && sayAmount(amount, asset),
    sayCounterparty(rule),
    amount === undefined && inAsset,
    chain && `on ${listed(chain.map(nameChain), 'or')}`,
    hours && sayHours(hours),
  ];
  return parts.flatMap((part) => (part ? [` ${part}`] : [])).join('');
}

const nouns: Readonly<Record<Operation, string>> = {
  transfer: 'transfers',
  invoice: 'invoices',
  withdraw: 'withdrawals',
  bridge: 'transfers to other chains',
  swap: 'swaps',
  order: 'orders',
  call: 'paid calls',
};

function sayOperations(operations: readonly Operation[] | undefined): string {
  return operations === undefined ? 'payments' : listed(operations.map((operation) => nouns[operation]));
}

function nameAssets(asset: Rule['asset']): string {
  return asset === undefined ? 'any asset' : listed(asset, 'or');
}

/** After a number: "5 USDC or EURC", "5 of any asset". */
function nameUnits(asset: Rule['asset']): string {
  return asset === undefined ? 'of any asset' : nameAssets(asset);
}

function sayAsset(asset: Rule['asset']): string {
  return `in ${nameAssets(asset)}`;
}

function sayAmount({ lte, gt }: NonNullable<Rule['amount']>, asset: Rule['asset']): string {
  const bounds = [
    ...(gt === undefined ? [] : [`more than ${sayNumber(gt)}`]),
    ...(lte === undefined ? [] : [`at most ${sayNumber(lte)}`]),
  ];
  return `of ${listed(bounds)} ${nameUnits(asset)} each`;
}

const kinds = {
  new: { alone: 'anyone new', named: 'if you have not paid them before' },
  known: { alone: 'anyone you have paid before', named: 'if you have paid them before' },
  verified: { alone: 'anyone verified', named: 'if they are verified' },
} as const satisfies Record<NonNullable<Rule['counterpartyIs']>, object>;

function sayCounterparty({ counterparty, counterpartyIs: kind }: Rule): string | undefined {
  if (counterparty === undefined) return kind && `to ${kinds[kind].alone}`;
  const names = `to ${listed(counterparty, 'or')}`;
  return kind === undefined ? names : `${names} ${kinds[kind].named}`;
}

function nameChain(chain: keyof typeof chains): string {
  return chains[chain].name;
}

const days: Readonly<Record<(typeof dayNames)[number], string>> = {
  mon: 'Mondays',
  tue: 'Tuesdays',
  wed: 'Wednesdays',
  thu: 'Thursdays',
  fri: 'Fridays',
  sat: 'Saturdays',
  sun: 'Sundays',
};

function sayHours({ from, to, days: on, timeZone }: NonNullable<Rule['hours']>): string {
  const isOvernight = to < from;
  const when = on === undefined ? '' : ` on ${listed(on.map((day) => days[day]))}`;
  return `between ${from} and ${to}${isOvernight ? ' the next day' : ''}${when} (${timeZone})`;
}

/** "20 USDC a day", "100 EURC in all on orders". */
export function sayBudget({ amount, currency, window, timeZone, seconds = 0, operations }: Budget): string {
  const isCalendar = window === 'day' || window === 'week' || window === 'month';
  const span = isCalendar ? `a ${window}` : window === 'once' ? 'in all' : `in any ${sayDuration(seconds)}`;
  const zone = isCalendar && timeZone !== 'UTC' ? ` (${timeZone})` : '';
  const only = operations === undefined ? '' : ` on ${sayOperations(operations)}`;
  return `${sayNumber(amount)} ${currency} ${span}${zone}${only}`;
}

/** "24 hours", "7 days", "hour": in the largest unit that needs no fraction, in days only from two. */
function sayDuration(seconds: number): string {
  const units = [
    { unit: 'day', size: 86_400, least: 2 },
    { unit: 'hour', size: 3_600, least: 1 },
    { unit: 'minute', size: 60, least: 1 },
    { unit: 'second', size: 1, least: 1 },
  ];
  const fitting = units.find(({ size, least }) => seconds % size === 0 && seconds >= size * least);
  const { unit, size } = fitting ?? { unit: 'second', size: 1 };
  const count = seconds / size;
  return count === 1 ? unit : `${count} ${unit}s`;
}

/** All its digits, with thousands separators. */
function sayNumber(given: number | undefined): string {
  const [whole = '', fraction] = expandExponent(String(given)).split('.');
  const grouped = whole.replace(/\B(?=(?:\d{3})+$)/g, ',');
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}
