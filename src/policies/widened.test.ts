import { expect, test } from 'vitest';
import { policyBody, toPolicy } from './policy.ts';
import { isWider } from './widened.ts';

const read = (given: unknown) => toPolicy(policyBody.parse(given));
const budget = { id: 'daily', amount: 20, currency: 'USDC', window: 'day', operations: ['transfer', 'call'] };
const small = { effect: 'allow', amount: { lte: 5 } };
const noEth = { effect: 'deny', asset: ['ETH'] };
const ask = { effect: 'ask', amount: { gt: 2 } };

test.each([
  ['no rules instead of some', { rules: [small] }, {}],
  ['another rule that allows', { rules: [small] }, { rules: [small, { effect: 'allow', operation: ['call'] }] }],
  ['a rule that allows more', { rules: [small] }, { rules: [{ effect: 'allow', amount: { lte: 6 } }] }],
  ['a rule that denied is gone', { rules: [small, noEth] }, { rules: [small] }],
  ['a rule that asked is gone', { rules: [small, ask] }, { rules: [small] }],
  ['a rule that denied asks', { rules: [small, noEth] }, { rules: [small, { ...noEth, effect: 'ask' }] }],
  ['a rule that denied denies less', { rules: [noEth] }, { rules: [{ ...noEth, operation: ['call'] }] }],
  [
    'other hours',
    { rules: [{ effect: 'allow', hours: { from: '09:00', to: '17:00', timeZone: 'UTC' } }] },
    { rules: [{ effect: 'allow', hours: { from: '09:00', to: '16:00', timeZone: 'Asia/Tokyo' } }] },
  ],
  ['a budget is gone', { budgets: [budget] }, {}],
  ['a higher limit', { budgets: [budget] }, { budgets: [{ ...budget, amount: 21 }] }],
  ['a budget that asks', { budgets: [budget] }, { budgets: [{ ...budget, onExceed: 'ask' }] }],
  ['a budget that counts less', { budgets: [budget] }, { budgets: [{ ...budget, operations: ['call'] }] }],
])('%s is wider', (_, before, after) => {
  expect(isWider(read(before), read(after))).toBe(true);
});

test.each([
  ['the same in another order', { rules: [small, noEth] }, { rules: [noEth, small] }],
  ['rules where there were none', {}, { rules: [small] }],
  ['a rule that denies or asks more', { rules: [small] }, { rules: [small, noEth, ask] }],
  ['a rule that allowed is gone', { rules: [small, { effect: 'allow', operation: ['call'] }] }, { rules: [small] }],
  [
    'a rule that allows less',
    { rules: [small] },
    { rules: [{ effect: 'allow', amount: { lte: 4 }, operation: ['call'] }] },
  ],
  ['a rule that asked denies', { rules: [small, ask] }, { rules: [small, { ...ask, effect: 'deny' }] }],
  ['nothing is allowed', { rules: [small] }, { rules: [noEth] }],
  ['a lower limit', { budgets: [budget] }, { budgets: [{ ...budget, amount: 19 }] }],
  ['one more budget', { budgets: [budget] }, { budgets: [budget, { ...budget, id: 'all', window: 'once' }] }],
  ['a budget that counts everything', { budgets: [budget] }, { budgets: [{ ...budget, operations: undefined }] }],
])('%s is not wider', (_, before, after) => {
  expect(isWider(read(before), read(after))).toBe(false);
});

test('the first policy is never wider, and its removal always', () => {
  expect(isWider(undefined, read({}))).toBe(false);
  expect(isWider(read({}), undefined)).toBe(true);
});
