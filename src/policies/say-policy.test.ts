import fc from 'fast-check';
import { expect, test } from 'vitest';
import { chainIds, holdings } from '../money/catalogue.ts';
import { operations } from './consent.ts';
import { counterpartyKinds, dayNames, effects, policyBody, toPolicy } from './policy.ts';
import { sayPolicy } from './say-policy.ts';

const say = (given: unknown) => sayPolicy(toPolicy(policyBody.parse(given)));
const daily = { id: 'daily', amount: 20, currency: 'USDC', window: 'day' };
const usdc = { effect: 'allow', asset: ['USDC'] };

test.each([
  [{}, 'May spend any amount of any asset.'],
  [{ rules: [] }, 'May spend nothing.'],
  [{ rules: [{ effect: 'deny', asset: ['ETH'] }] }, 'May spend nothing; refuses payments in ETH.'],
  [
    {
      rules: [
        usdc,
        { effect: 'ask', asset: ['USDC'], amount: { gt: 5 } },
        { ...usdc, effect: 'ask', counterpartyIs: 'new' },
      ],
      budgets: [daily],
    },
    'May spend 20 USDC a day; asks you above 5 USDC and before paying anyone new.',
  ],
  [
    {
      rules: [{ effect: 'allow' }, { effect: 'ask', amount: { gt: 5 } }, { effect: 'ask', counterpartyIs: 'new' }],
      budgets: [daily],
    },
    'May spend 20 USDC a day in any asset; asks you above 5 of any asset and before paying anyone new.',
  ],
  [{ budgets: [daily] }, 'May spend 20 USDC a day in any asset.'],
  [
    { rules: [usdc], budgets: [{ ...daily, currency: 'EURC', timeZone: 'Europe/Berlin' }] },
    'May spend 20 EURC a day (Europe/Berlin) in USDC.',
  ],
  [
    {
      rules: [usdc],
      budgets: [
        { ...daily, amount: '1234567.5' },
        { ...daily, id: 'w', window: 'week', onExceed: 'ask' },
      ],
    },
    'May spend 1,234,567.5 USDC a day and 20 USDC a week; asks you beyond 20 USDC a week.',
  ],
  [
    {
      budgets: [
        { ...daily, window: 'once' },
        { ...daily, id: 'a', window: 'rolling', seconds: 86_400, operations: ['call', 'order'] },
      ],
    },
    'May spend 20 USDC in all in any asset; at most 20 USDC in any 24 hours on paid calls and orders.',
  ],
  [
    { rules: [{ effect: 'allow', amount: { lte: 5 }, counterpartyIs: 'known' }], budgets: [daily] },
    'May spend 20 USDC a day on payments of at most 5 of any asset each to anyone you have paid before.',
  ],
  [
    {
      rules: [
        { effect: 'allow', operation: ['call'], asset: ['USDC'] },
        {
          effect: 'allow',
          operation: ['transfer'],
          amount: { gt: 1, lte: 2.5 },
          asset: ['EURC', 'USDC'],
          counterparty: ['PA-AAAAAAAA'],
        },
        { effect: 'deny', chain: ['BASE'], operation: ['bridge'] },
        { effect: 'ask', operation: ['call'], counterparty: ['api.example', 'shop.example'], counterpartyIs: 'new' },
      ],
    },
    'May spend any amount on paid calls in USDC, or on transfers of more than 1 and at most 2.5 EURC or USDC each to PA-AAAAAAAA; refuses transfers to other chains on Base; asks you before paid calls to api.example or shop.example if you have not paid them before.',
  ],
  [
    {
      rules: [
        {
          effect: 'allow',
          operation: ['call'],
          hours: { from: '22:00', to: '06:00', days: ['fri', 'mon'], timeZone: 'Asia/Tokyo' },
        },
        { effect: 'ask', operation: ['call'], amount: { gt: 0.0000001 } },
        { effect: 'ask', amount: { gt: 3 } },
      ],
    },
    'May spend any amount of any asset on paid calls between 22:00 and 06:00 the next day on Mondays and Fridays (Asia/Tokyo); asks you above 0.0000001 of any asset; asks you before payments of every kind of more than 3 of any asset each.',
  ],
  [
    { rules: [{ effect: 'ask', counterpartyIs: 'verified' }], budgets: [daily] },
    'May spend nothing without your approval; at most 20 USDC a day; asks you before paying anyone verified; refuses everything else.',
  ],
  [{ rules: [{ effect: 'ask' }] }, 'May spend nothing without your approval; asks you before every payment.'],
  [
    { rules: [{ effect: 'allow' }, { effect: 'deny' }] },
    'May spend any amount of any asset; refuses payments of every kind.',
  ],
])('%j', (policy, sentence) => {
  expect(say(policy)).toBe(sentence);
});

const some = <Item>(items: readonly Item[]) => fc.subarray([...items], { minLength: 1 });
const zone = fc.constantFrom('UTC', 'Europe/Berlin', 'Asia/Tokyo');
const number = fc.constantFrom(0, 0.5, 5, 1e-7, 20_000, 1e15);
const members = {
  operation: some(operations),
  asset: some(holdings),
  amount: fc.oneof(fc.record({ lte: number }), fc.record({ gt: number }), fc.constant({ gt: 1, lte: 2 })),
  counterparty: some(['PA-AAAAAAAA', 'ada@example.com', '+14155550123', `0x${'ab'.repeat(20)}`, 'shop.example']),
  counterpartyIs: fc.constantFrom(...counterpartyKinds),
  chain: some(chainIds),
  hours: fc.record(
    {
      from: fc.constantFrom('09:00', '22:00'),
      to: fc.constantFrom('06:00', '24:00'),
      days: some(dayNames),
      timeZone: zone,
    },
    { requiredKeys: ['from', 'to', 'timeZone'] },
  ),
};
const rule = fc.record({ effect: fc.constantFrom(...effects), ...members }, { requiredKeys: ['effect'] });
const budget = fc
  .record(
    {
      amount: number.filter((amount) => amount >= 0.01 && amount <= 20_000),
      currency: fc.constantFrom('USDC', 'EURC'),
      window: fc.constantFrom('once', 'day', 'week', 'month', 'rolling'),
      seconds: fc.constantFrom(60, 90, 3_600, 86_400, 172_800),
      timeZone: zone,
      operations: some(operations),
      onExceed: fc.constantFrom('deny', 'ask'),
    },
    { requiredKeys: ['amount', 'currency', 'window', 'seconds'] },
  )
  .map(({ seconds, ...rest }) => (rest.window === 'rolling' ? { ...rest, seconds } : rest));
const policy = fc.record(
  {
    rules: fc.array(rule, { maxLength: 4 }),
    budgets: fc.array(budget, { maxLength: 3 }).map((all) => all.map((one, at) => ({ ...one, id: `${at}` }))),
  },
  { requiredKeys: ['rules', 'budgets'] },
);

/** As the policy stores it, so that another spelling is no change. */
const stored = (given: unknown) => JSON.stringify(toPolicy(policyBody.parse(given)));

test('every member of every rule is in the sentence', () => {
  const change = fc.record({ at: fc.nat(), member: fc.constantFrom('effect', ...Object.keys(members)), from: rule });
  fc.assert(
    fc.property(policy, change, (given, { at, member, from }) => {
      const name = member as keyof typeof from;
      const chosen = given.rules[at % Math.max(given.rules.length, 1)];
      fc.pre(chosen !== undefined);
      const { [name]: _, ...rest } = chosen;
      // Another value, or none.
      const changed = { ...rest, ...(from[name] === undefined ? {} : { [name]: from[name] }) };
      fc.pre('effect' in changed);
      const after = { ...given, rules: given.rules.map((one) => (one === chosen ? changed : one)) };
      fc.pre(stored(after) !== stored(given));
      expect(say(after)).not.toBe(say(given));
    }),
    { numRuns: 500 },
  );
});

test('every member of every budget is in the sentence, but for its id and for a time zone that has no meaning', () => {
  const names = ['amount', 'currency', 'window', 'seconds', 'timeZone', 'operations', 'onExceed'] as const;
  const change = fc.record({ at: fc.nat(), name: fc.constantFrom(...names), from: budget });
  fc.assert(
    fc.property(policy, change, (given, { at, name, from }) => {
      const chosen = given.budgets[at % Math.max(given.budgets.length, 1)];
      fc.pre(chosen !== undefined);
      const changed = { ...chosen, [name]: (from as Record<string, unknown>)[name] };
      fc.pre((changed.window === 'rolling') === ('seconds' in changed && changed.seconds !== undefined));
      fc.pre(name !== 'timeZone' || ['day', 'week', 'month'].includes(chosen.window));
      const after = { ...given, budgets: given.budgets.map((one) => (one === chosen ? changed : one)) };
      fc.pre(stored(after) !== stored(given));
      expect(say(after)).not.toBe(say(given));
    }),
    { numRuns: 500 },
  );
});

test('no rule is left out, and no rules are not the same as none', () => {
  fc.assert(
    fc.property(policy, rule, (given, added) => {
      expect(say({ ...given, rules: [...given.rules, added] })).not.toBe(say(given));
      expect(say({ ...given, rules: [] })).not.toBe(say({ budgets: given.budgets }));
    }),
  );
});
