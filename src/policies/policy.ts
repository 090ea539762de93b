import { createHash } from 'node:crypto';
import { z } from 'zod';
import { visibleText } from '../accounts/fields.ts';
import { amountField, currency, type GivenAmount, holding, requireAmount } from '../kernel/http/amount-field.ts';
import { httpErrors } from '../kernel/http/errors.ts';
import { toJsonNumber } from '../money/amount.ts';
import { type ChainId, type Currency, chainIds } from '../money/catalogue.ts';
import { operations } from './consent.ts';
import { readCounterpartyName } from './counterparty-name.ts';
import { readTimeZone } from './time-zone.ts';

const mostRules = 50;
const mostBudgets = 10;
const mostNames = 200;

export const dayNames = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
export const effects = ['allow', 'deny', 'ask'] as const;
export const counterpartyKinds = ['known', 'new', 'verified'] as const;
export const spans = ['once', 'day', 'week', 'month', 'rolling'] as const;

export type Effect = (typeof effects)[number];

/** A list whose order and repetitions have no meaning, so it is kept sorted and without them. */
function setOf<Item extends z.ZodType<string>>(item: Item, most: number) {
  return z
    .array(item)
    .min(1, 'must name at least one')
    .max(most, `must have at most ${most} entries`)
    .transform((items) => [...new Set(items)].toSorted());
}

const operation = z.enum(operations, { error: `must be one of ${operations.join(', ')}` });

const chain = z.enum(chainIds as [ChainId, ...ChainId[]], { error: `must be one of ${chainIds.join(', ')}` });

const timeZone = z
  .string()
  .max(64)
  .transform((text, context) => {
    const zone = readTimeZone(text);
    if (zone === undefined) context.addIssue('must be an IANA time zone, such as Europe/Berlin, or UTC');
    return zone ?? z.NEVER;
  })
  .meta({ description: 'An IANA time zone, such as Europe/Berlin.' });

const counterparty = z
  .string()
  .max(320)
  .transform((text, context) => {
    const name = readCounterpartyName(text);
    if (name === undefined)
      context.addIssue('must be a handle, an email, a phone number with country code, an address, a domain or a host');
    return name?.text ?? z.NEVER;
  });

const bound = z.number({ error: 'must be a number' }).min(0, 'must be 0 or more').max(1e15);

const amount = z
  .strictObject({ lte: bound.optional(), gt: bound.optional() })
  .refine(({ lte, gt }) => lte !== undefined || gt !== undefined, 'must have lte, gt or both')
  .refine(({ lte, gt }) => lte === undefined || gt === undefined || gt < lte, 'gt must be less than lte')
  .transform(({ lte, gt }) => ({ ...(lte !== undefined && { lte }), ...(gt !== undefined && { gt }) }))
  .meta({ description: 'In the asset of the operation, with its fee: at most `lte` and more than `gt`.' });

const days = z
  .array(z.enum(dayNames, { error: `must be one of ${dayNames.join(', ')}` }))
  .min(1, 'must name at least one')
  .max(7, 'must have at most 7 entries')
  .transform((given) => dayNames.filter((day) => given.includes(day)));

const hours = z
  .strictObject({
    from: z.string().regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, 'must be a time such as 09:30'),
    to: z.string().regex(/^(?:(?:[01]\d|2[0-3]):[0-5]\d|24:00)$/, 'must be a time such as 17:30, or 24:00'),
    days: days.optional(),
    timeZone,
  })
  .refine(({ from, to }) => from !== to, {
    path: ['to'],
    error: 'must differ from `from`; a whole day is 00:00 to 24:00',
  })
  .transform(({ from, to, days: on, timeZone: zone }) => ({ from, to, ...(on && { days: on }), timeZone: zone }))
  .meta({
    description:
      'From `from` up to but not including `to`. If `to` is earlier, the hours end on the next day. `days` are those on which the hours begin.',
  });

const rule = z
  .strictObject({
    effect: z.enum(effects, { error: `must be one of ${effects.join(', ')}` }),
    operation: setOf(operation, operations.length).optional(),
    asset: setOf(holding, 16).optional(),
    amount: amount.optional(),
    counterparty: setOf(counterparty, mostNames).optional().meta({
      description:
        'Handles, emails, phone numbers, addresses, domains of shops, or hosts of paid endpoints. An email or a phone number means the account that has verified it. A bridge and a swap have no counterparty, so such a rule never matches them.',
    }),
    counterpartyIs: z
      .enum(counterpartyKinds, { error: `must be one of ${counterpartyKinds.join(', ')}` })
      .optional()
      .meta({
        description:
          '`known`: your account has paid it before, with any key, and not everything was returned. `new`: it has not. `verified`: an account with a verified email or phone number, a shop with a proved domain, or an address on your allow-list.',
      }),
    chain: setOf(chain, chainIds.length)
      .optional()
      .meta({ description: 'Where the money leaves; for a bridge also where it arrives.' }),
    hours: hours.optional(),
  })
  .transform((given) => withoutUndefined(given));

const budget = z
  .strictObject({
    id: visibleText(40).meta({ description: 'The same id keeps what was spent when the policy changes.' }),
    amount: amountField.meta({ description: 'The most that a window allows: a number or a decimal string.' }),
    currency,
    window: z.enum(spans, { error: `must be one of ${spans.join(', ')}` }).meta({
      description: 'Weeks begin on Monday. `rolling` is the last `seconds`, and `once` never refills.',
    }),
    timeZone: timeZone.optional().meta({ description: 'Where days, weeks and months begin. The default is UTC.' }),
    seconds: z
      .int({ error: 'must be a whole number of seconds' })
      .min(60, 'must be 60 or more')
      .max(31_536_000, 'must be at most 31536000, which is a year')
      .optional()
      .meta({ description: 'Only for `rolling`, which needs it.' }),
    operations: setOf(operation, operations.length)
      .optional()
      .meta({ description: 'Only these count. All of them when left out.' }),
    onExceed: z
      .enum(['deny', 'ask'], { error: 'must be deny or ask' })
      .default('deny')
      .meta({ description: 'Whether a payment beyond it is refused or the owner is asked.' }),
  })
  .superRefine(({ window, seconds }, context) => {
    if (window === 'rolling' && seconds === undefined)
      context.addIssue({ code: 'custom', path: ['seconds'], message: 'is required for a rolling window' });
    if (window !== 'rolling' && seconds !== undefined)
      context.addIssue({ code: 'custom', path: ['seconds'], message: 'is only for a rolling window' });
  });

function onceEach(budgets: readonly { readonly id: string }[], context: z.RefinementCtx): void {
  const seen = new Set<string>();
  for (const [index, { id }] of budgets.entries()) {
    if (seen.has(id)) context.addIssue({ code: 'custom', path: [index, 'id'], message: 'is the id of another budget' });
    seen.add(id);
  }
}

/** The body of PUT /account/keys/{id}/policy. */
export const policyBody = z.strictObject({
  rules: z.array(rule).max(mostRules, `must have at most ${mostRules} rules`).optional().meta({
    description:
      'A rule matches a payment when all its members do. `deny` beats `ask`, which beats `allow`. With rules, a payment that no rule matches is denied, so an empty list denies every payment. Without `rules`, everything within the budgets is allowed.',
  }),
  budgets: z
    .array(budget)
    .max(mostBudgets, `must have at most ${mostBudgets} budgets`)
    .superRefine(onceEach)
    .optional(),
});

export type Rule = z.output<typeof rule>;

export interface Budget {
  readonly id: string;
  readonly amount: number;
  readonly currency: Currency;
  readonly window: (typeof spans)[number];
  readonly timeZone: string;
  readonly seconds?: number;
  readonly operations?: readonly (typeof operations)[number][];
  readonly onExceed: 'deny' | 'ask';
}

/** The canonical form: the same policy in another spelling is the same text. */
export interface Policy {
  readonly rules?: readonly Rule[];
  readonly budgets: readonly Budget[];
}

/** Sets are sorted by the schema already, and budgets are here. The order of rules stays: refusals name their index. */
export function toPolicy({ rules, budgets = [] }: z.output<typeof policyBody>): Policy {
  const sorted = budgets.toSorted((one, other) => (one.id < other.id ? -1 : 1));
  return {
    ...(rules && { rules }),
    budgets: sorted.map(({ id, amount: most, currency: unit, window, timeZone: zone = 'UTC', ...rest }) => ({
      id,
      amount: readMost(
        unit,
        most,
        budgets.findIndex((one) => one.id === id),
      ),
      currency: unit,
      window,
      timeZone: zone,
      ...(rest.seconds !== undefined && { seconds: rest.seconds }),
      ...(rest.operations && { operations: rest.operations }),
      onExceed: rest.onExceed,
    })),
  };
}

/** Unlike a payment, a budget may be 0. */
function readMost(unit: Currency, given: GivenAmount, index: number): number {
  if (given.toJSON() === 0) return 0;
  return toJsonNumber(requireAmount(unit, given, `budgets.${index}.amount`));
}

/** SHA-256 of the canonical form as JSON with sorted names, in hex. */
export function versionOf(policy: Policy): string {
  return createHash('sha256')
    .update(JSON.stringify(sortNames(policy)))
    .digest('hex');
}

function sortNames(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortNames);
  if (typeof value !== 'object' || value === null) return value;
  const names = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(names.map(([name, inner]) => [name, sortNames(inner)]));
}

/** Every time zone that the policy names, with its place in the request. */
export function* zonesOf({ rules = [], budgets }: Policy): Generator<string> {
  for (const { hours: when } of rules) if (when !== undefined) yield when.timeZone;
  for (const { timeZone: zone } of budgets) yield zone;
}

export function unknownZone(zone: string): Error {
  const message = `must be a time zone that the database knows: it does not know ${zone}`;
  return httpErrors.invalid_request(`timeZone ${message}.`, { errors: [{ path: 'timeZone', message }] });
}

/** So that a rule has only the members that were given. */
function withoutUndefined<Given extends object>(given: Given): Given {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Given;
}

/** A policy in a response. The rules are as PUT takes them. */
export const shownPolicy = z.object({
  key: z.string().meta({ description: 'The id of the key.' }),
  rules: z
    .array(z.record(z.string(), z.unknown()))
    .optional()
    .meta({ description: 'As they were set, in one spelling. Left out when the policy has none.' }),
  budgets: z.array(
    z.object({
      id: z.string(),
      amount: z.number(),
      currency,
      window: z.enum(spans),
      timeZone: z.string(),
      seconds: z.number().optional(),
      operations: z.array(z.enum(operations)).optional(),
      onExceed: z.enum(['deny', 'ask']),
    }),
  ),
  version: z.string().meta({ description: 'Changes with the policy. In quotes it is the ETag: send it as If-Match.' }),
});
