import { describe, expect, test } from 'vitest';
import { policyBody, toPolicy, versionOf } from './policy.ts';

const read = (given: unknown) => toPolicy(policyBody.parse(given));
const refusal = (given: unknown) => policyBody.safeParse(given).error?.issues[0]?.message;
const budget = { id: 'daily', amount: 20, currency: 'USDC', window: 'day' };

describe('the version of a policy', () => {
  const version = (given: unknown) => versionOf(read(given));

  test('is the same for another spelling', () => {
    const one = version({
      rules: [{ effect: 'allow', operation: ['transfer', 'call'], counterparty: ['pa-aaaaaaaa', 'ADA@example.com'] }],
      budgets: [budget, { ...budget, id: 'all' }],
    });
    const other = version({
      budgets: [
        { ...budget, id: 'all' },
        {
          window: 'day',
          currency: 'USDC',
          amount: '20.00',
          id: 'daily',
          timeZone: 'utc'.toUpperCase(),
          onExceed: 'deny',
        },
      ],
      rules: [
        {
          counterparty: ['ada@example.com', 'PA-AAAAAAAA', 'PA-AAAAAAAA'],
          operation: ['call', 'transfer'],
          effect: 'allow',
        },
      ],
    });
    expect(other).toBe(one);
    expect(one).toMatch(/^[0-9a-f]{64}$/);
  });

  test('is another one for another order of rules, another amount, and no rules instead of none', () => {
    const [allow, deny] = [{ effect: 'allow' }, { effect: 'deny', asset: ['ETH'] }];
    const versions = [
      { rules: [allow, deny] },
      { rules: [deny, allow] },
      { rules: [] },
      {},
      { budgets: [budget] },
      { budgets: [{ ...budget, amount: 21 }] },
    ].map(version);
    expect(new Set(versions).size).toBe(versions.length);
  });
});

test('a counterparty has one spelling', () => {
  const [rule] =
    read({
      rules: [
        {
          effect: 'allow',
          counterparty: [
            'pa-abcd1234',
            'Ada@Example.COM',
            '+1 (415) 555-0123',
            `0x${'AB'.repeat(20)}`,
            'Shop.Example',
            'api.example:443',
          ],
        },
      ],
    }).rules ?? [];
  expect(rule?.counterparty).toEqual(
    [
      'PA-ABCD1234',
      'ada@example.com',
      '+14155550123',
      `0x${'ab'.repeat(20)}`,
      'shop.example',
      'api.example',
    ].toSorted(),
  );
});

test.each([
  ['127.0.0.1', '127.0.0.1'],
  ['127.0.0.1:8080', '127.0.0.1:8080'],
  ['[::1]', '[::1]'],
  ['[::1]:8080', '[::1]:8080'],
  ['7eleven.example', '7eleven.example'],
])('%s is a host', (given, host) => {
  expect(read({ rules: [{ effect: 'allow', counterparty: [given] }] }).rules?.[0]?.counterparty).toEqual([host]);
});

test.each(['4155553214', '0014155553214', '5', '1.2', '127.1', '0x7f.1', '127.1:8080'])(
  '%s is no counterparty, because digits are more often a phone number than an address',
  (text) => {
    expect(refusal({ rules: [{ effect: 'allow', counterparty: [text] }] })).toContain(
      'a phone number with country code',
    );
  },
);

test.each([
  [{ effect: 'permit' }, 'must be one of'],
  [{ effect: 'allow', operation: [] }, 'must name at least one'],
  [{ effect: 'allow', operation: ['deposit'] }, 'must be one of'],
  [{ effect: 'allow', asset: ['DOGE'] }, 'must be one of'],
  [{ effect: 'allow', amount: {} }, 'must have lte, gt or both'],
  [{ effect: 'allow', amount: { lte: 1, gt: 1 } }, 'gt must be less than lte'],
  [{ effect: 'allow', amount: { lte: -1 } }, 'must be 0 or more'],
  [{ effect: 'allow', counterparty: ['somebody'] }, 'must be a handle'],
  [{ effect: 'allow', counterparty: ['https://shop.example/'] }, 'must be a handle'],
  [{ effect: 'allow', counterpartyIs: 'old' }, 'must be one of'],
  [{ effect: 'allow', chain: ['SOL'] }, 'must be one of'],
  [{ effect: 'allow', hours: { from: '9:00', to: '17:00', timeZone: 'UTC' } }, 'must be a time'],
  [{ effect: 'allow', hours: { from: '09:00', to: '09:00', timeZone: 'UTC' } }, 'must differ'],
  [{ effect: 'allow', hours: { from: '09:00', to: '17:00', timeZone: '+01:00' } }, 'must be an IANA time zone'],
  [{ effect: 'allow', hours: { from: '09:00', to: '17:00', timeZone: 'CET' } }, 'must be an IANA time zone'],
  [{ effect: 'allow', hours: { from: '09:00', to: '17:00', timeZone: 'Mars/Olympus' } }, 'must be an IANA time zone'],
])('refuses the rule %j', (rule, message) => {
  expect(refusal({ rules: [rule] })).toContain(message);
});

test.each([
  [{ ...budget, id: '' }, 'must not be empty'],
  [{ ...budget, id: 'x'.repeat(41) }, 'must be at most 40 characters'],
  [{ ...budget, currency: 'ETH' }, 'must be USDC or EURC'],
  [{ ...budget, window: 'year' }, 'must be one of'],
  [{ ...budget, window: 'rolling' }, 'is required for a rolling window'],
  [{ ...budget, window: 'rolling', seconds: 59 }, 'must be 60 or more'],
  [{ ...budget, window: 'rolling', seconds: 31_536_001 }, 'must be at most 31536000'],
  [{ ...budget, seconds: 60 }, 'is only for a rolling window'],
  [{ ...budget, timeZone: 'EST' }, 'must be an IANA time zone'],
  [{ ...budget, operations: [] }, 'must name at least one'],
  [{ ...budget, onExceed: 'allow' }, 'must be deny or ask'],
])('refuses the budget %j', (given, message) => {
  expect(refusal({ budgets: [given] })).toContain(message);
});

test('has at most 50 rules and 10 budgets, each with its own id', () => {
  const rules = Array.from({ length: 51 }, () => ({ effect: 'allow' }));
  const budgets = Array.from({ length: 11 }, (_, n) => ({ ...budget, id: `b${n}` }));
  expect(refusal({ rules })).toContain('at most 50');
  expect(refusal({ budgets })).toContain('at most 10');
  expect(refusal({ rules: rules.slice(1), budgets: budgets.slice(1) })).toBeUndefined();
  expect(refusal({ budgets: [budget, budget] })).toContain('is the id of another budget');
});

test('a budget may be 0, but has no more decimals than its currency', () => {
  expect(read({ budgets: [{ ...budget, amount: 0 }] }).budgets[0]?.amount).toBe(0);
  expect(() => read({ budgets: [{ ...budget, amount: '0.0000001' }] })).toThrow('budgets.0.amount');
  expect(() => read({ budgets: [{ ...budget, amount: -1 }] })).toThrow('budgets.0.amount');
});
