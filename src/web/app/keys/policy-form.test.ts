import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { operations } from '../../../policies/consent.ts';
import { type Policy, policyBody, toPolicy, versionOf } from '../../../policies/policy.ts';
import { sayPolicy } from '../../../policies/say-policy.ts';
import { emptyForm, formOf, guess, type PolicyForm, policyOf, readPolicyForm } from './policy-form.ts';

const read = (given: unknown) => toPolicy(policyBody.parse(given));
const fill = (entered: Partial<PolicyForm>): PolicyForm => ({ ...emptyForm, ...entered });
const limits = (day: string, week = '', month = '') => ({ limits: { day, week, month } });

function policyFrom(form: PolicyForm, before?: Policy): Policy {
  const read = policyOf(form, before);
  if ('faults' in read) throw new Error(JSON.stringify(read.faults));
  return read.policy;
}
const faults = (entered: Partial<PolicyForm>) => {
  const read = policyOf(fill(entered), undefined);
  return 'faults' in read ? read.faults : [];
};

test('20 USDC a day, asking above 5 USDC and before paying anyone new', () => {
  const policy = policyFrom(fill({ ...limits('20'), askAbove: '5', asksNew: true }));
  expect(sayPolicy(policy)).toBe('May spend 20 USDC a day; asks you above 5 USDC and before paying anyone new.');
  expect(policy).toEqual({
    rules: [
      { effect: 'allow', asset: ['USDC'] },
      { effect: 'ask', asset: ['USDC'], amount: { gt: 5 } },
      { effect: 'ask', asset: ['USDC'], counterpartyIs: 'new' },
    ],
    budgets: [{ id: 'usdc-day', amount: 20, currency: 'USDC', window: 'day', timeZone: 'UTC', onExceed: 'deny' }],
  });
});

test('what it may do limits every rule, so nothing else is asked about', () => {
  const policy = policyFrom(
    fill({ operations: ['order', 'call'], askAbove: '0', asksNew: true, beyond: 'ask', ...limits('', '1.50', '0') }),
  );
  expect(policy.rules?.map(({ operation }) => operation)).toEqual([
    ['call', 'order'],
    ['call', 'order'],
    ['call', 'order'],
  ]);
  expect(sayPolicy(policy)).toBe(
    'May spend 0 USDC a month and 1.5 USDC a week on paid calls and orders; asks you above 0 USDC, before paying anyone new and beyond 0 USDC a month or 1.5 USDC a week.',
  );
});

test('fields that a browser sends', () => {
  const sent = { currency: 'EURC', day: ' 20 ', beyond: 'ask', askAbove: '5', askNew: 'on', 'may-call': 'on' };
  expect(readPolicyForm(sent)).toEqual({
    currency: 'EURC',
    ...limits('20'),
    beyond: 'ask',
    askAbove: '5',
    asksNew: true,
    operations: ['call'],
  });
});

describe('a fault', () => {
  test.each([
    [limits('twenty'), 'day', 'must be a decimal number such as 12.5'],
    [limits('', '-1'), 'week', 'must be a decimal number such as 12.5'],
    [limits('1', '', '0.0000001'), 'month', 'must have at most 6 decimals for USDC'],
    [limits('1000000000'), 'day', 'must be at most 900000000'],
    [{ askAbove: '5 USDC' }, 'askAbove', 'must be a number'],
    [{ askAbove: '-5' }, 'askAbove', 'must be a number'],
    [{ askAbove: `${2 ** 60}` }, 'askAbove', expect.any(String)],
    [{ operations: [] }, 'operations', 'must name at least one'],
    [{ currency: 'DOGE' }, 'currency', expect.stringContaining('must be')],
    [{ ...limits('1'), beyond: 'shrug' }, 'beyond', 'must be deny or ask'],
  ])('of %j is told beside its field', (entered, field, message) => {
    expect(faults(entered)).toEqual([{ field, message }]);
  });
});

const amount = fc.constantFrom('', '0', '0.5', '20', '1234567.891011');
const form: fc.Arbitrary<PolicyForm> = fc.record({
  currency: fc.constantFrom('USDC', 'EURC'),
  limits: fc.record({ day: amount, week: amount, month: amount }),
  beyond: fc.constantFrom('deny', 'ask'),
  askAbove: amount,
  asksNew: fc.boolean(),
  operations: fc.subarray([...operations], { minLength: 1 }),
});

test('every policy of the form is shown by the form as it was entered', () => {
  fc.assert(
    fc.property(form, form, (entered, earlier) => {
      const policy = policyFrom(entered, policyFrom(earlier));
      const shown = formOf(policy);
      // Without a limit there is nothing beyond it.
      const hasLimit = Object.values(entered.limits).some((limit) => limit !== '');
      expect(shown).toEqual({ ...entered, operations: expect.any(Array), beyond: hasLimit ? entered.beyond : 'deny' });
      expect(shown?.operations.toSorted()).toEqual(entered.operations.toSorted());
    }),
  );
});

test('a limit keeps its id, so what was spent of it still counts', () => {
  const daily = { id: 'mine', amount: 1, currency: 'USDC', window: 'day' };
  const before = read({ budgets: [daily, { ...daily, id: 'calls', operations: ['call'] }] });
  const ids = (entered: Partial<PolicyForm>) => policyFrom(fill(entered), before).budgets.map(({ id }) => id);
  expect(ids(limits('20', '50'))).toEqual(['mine', 'usdc-week']);
  expect(ids({ ...limits('20'), currency: 'EURC' })).toEqual(['eurc-day']);
});

test.each([
  {},
  { rules: [] },
  { budgets: [{ id: 'daily', amount: 20, currency: 'USDC', window: 'day' }] },
  { rules: [{ effect: 'allow' }] },
  {
    rules: [
      { effect: 'allow', asset: ['USDC'] },
      { effect: 'deny', chain: ['BASE'] },
    ],
  },
  { rules: [{ effect: 'allow', asset: ['USDC'], hours: { from: '09:00', to: '17:00', timeZone: 'UTC' } }] },
  {
    rules: [{ effect: 'allow', asset: ['USDC'] }],
    budgets: [{ id: 'daily', amount: 20, currency: 'USDC', window: 'day', timeZone: 'Asia/Tokyo' }],
  },
  {
    rules: [{ effect: 'allow', asset: ['USDC'] }],
    budgets: [{ id: 'x', amount: 20, currency: 'USDC', window: 'once' }],
  },
])('the form cannot show %j, and says so', (given) => {
  const policy = read(given);
  expect(formOf(policy)).toBeUndefined();
  // It can be filled in all the same, with another policy.
  expect(versionOf(policyFrom(guess(policy), policy))).not.toBe(versionOf(policy));
});
