import fc from 'fast-check';
import { expect, test } from 'vitest';
import { amountOf, toDecimalText } from '../../../src/money/amount.ts';
import { type ChainId, chainIds, holdings } from '../../../src/money/catalogue.ts';
import { type Counterparty, operations, type Payment } from '../../../src/policies/consent.ts';
import { counterpartyKinds, dayNames, effects, policyBody, toPolicy } from '../../../src/policies/policy.ts';
import { compileRules, type Facts, findUnmet, judge } from '../../../src/policies/rules.ts';
import { type ReferenceRule, referenceAnswer } from '../../support/reference-rules.ts';

const someOf = <Item>(items: readonly Item[]) => fc.subarray([...items], { minLength: 1 });
const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined, freq: 2 });

/** Few values, so that rules and payments meet. */
const bounds = [0, 0.000001, 1e-7, 0.1, 0.3, 1, 2.5, 5, 100];
const names = [
  'PA-AAAAAAAA',
  'PA-BBBBBBBB',
  'ada@example.com',
  '+14155550123',
  `0x${'a'.repeat(40)}`,
  'shop.example',
  'api.example',
];
const zones = ['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kathmandu', 'Pacific/Apia'];
const time = fc.constantFrom('00:00', '00:01', '02:30', '09:00', '17:00', '22:00', '23:59');

const amount = fc
  .record({ lte: maybe(fc.constantFrom(...bounds)), gt: maybe(fc.constantFrom(...bounds)) })
  .filter(({ lte, gt }) => (lte ?? gt) !== undefined && (lte === undefined || gt === undefined || gt < lte));

const hours = fc
  .record({
    from: time,
    to: fc.oneof(time, fc.constant('24:00')),
    days: maybe(someOf(dayNames)),
    timeZone: fc.constantFrom(...zones),
  })
  .filter(({ from, to }) => from !== to);

const rule = fc.record({
  effect: fc.constantFrom(...effects),
  operation: maybe(someOf(operations)),
  asset: maybe(someOf(holdings)),
  amount: maybe(amount),
  counterparty: maybe(someOf(names)),
  counterpartyIs: maybe(fc.constantFrom(...counterpartyKinds)),
  chain: maybe(someOf(chainIds)),
  hours: maybe(hours),
});

const chainOfPolicies = fc.array(fc.option(fc.array(rule, { maxLength: 6 }), { nil: undefined, freq: 4 }), {
  minLength: 1,
  maxLength: 4,
});

const counterparties: readonly (readonly [Counterparty, readonly string[], Facts])[] = [
  [
    { kind: 'account', accountId: 1n },
    ['PA-AAAAAAAA', 'ada@example.com'],
    { handle: 'PA-AAAAAAAA', contact: { email: 'ada@example.com', phone: null } },
  ],
  [
    { kind: 'account', accountId: 2n },
    ['PA-CCCCCCCC', '+14155550123'],
    { handle: 'PA-CCCCCCCC', contact: { email: null, phone: '+14155550123' } },
  ],
  [{ kind: 'address', address: `0x${'A'.repeat(40)}` }, [`0x${'a'.repeat(40)}`], {}],
  [{ kind: 'shop', domain: 'shop.example', owner: null }, ['shop.example'], {}],
  [{ kind: 'endpoint', host: 'api.example' }, ['api.example'], {}],
  [{ kind: 'endpoint', host: 'other.example' }, ['other.example'], {}],
  [{ kind: 'endpoint', host: 'api.example:8443' }, ['api.example:8443', 'api.example'], {}],
];

const payment = fc.record({
  operation: fc.constantFrom(...operations),
  asset: fc.constantFrom(...holdings),
  bound: fc.constantFrom(...bounds),
  beside: fc.constantFrom(-1n, 0n, 1n),
  counterparty: fc.option(fc.constantFrom(...counterparties), { nil: undefined, freq: 5 }),
  chains: fc.subarray([...chainIds], { minLength: 1, maxLength: 2 }),
  known: fc.boolean(),
  verified: fc.boolean(),
  // Both changes of daylight saving in Europe and America are in it.
  at: fc.date({ min: new Date('2026-03-01T00:00:00Z'), max: new Date('2026-11-30T00:00:00Z'), noInvalidDate: true }),
});

test('1,000 random policies are judged as the reference judges them, and ask for no fact in vain', () => {
  const seen = new Map<string, number>();
  fc.assert(
    fc.property(
      chainOfPolicies,
      payment,
      (given, { bound, beside, asset, counterparty, known, verified, at, ...rest }) => {
        const chain = given
          .map((rules) => toPolicy(policyBody.parse(JSON.parse(JSON.stringify({ rules })))))
          .map(({ rules }) => rules);
        const decimals = asset === 'USDC' || asset === 'EURC' ? 6 : 18;
        const atomic = (BigInt(Math.round(bound * 1e7)) * 10n ** BigInt(decimals)) / 10_000_000n + beside;
        const paid = amountOf(asset, atomic > 0n ? atomic : 1n);
        const [party, partyNames, facts = {}] = counterparty ?? [];
        const asked: Payment = {
          ...rest,
          chains: rest.chains as ChainId[],
          amount: paid,
          ...(party && { counterparty: party }),
        };

        const expected = referenceAnswer(given as readonly (readonly ReferenceRule[] | undefined)[], {
          ...rest,
          asset,
          amount: toDecimalText(paid),
          names: partyNames,
          known,
          verified,
          at,
        });

        const compiled = chain.flatMap((rules, index) =>
          rules === undefined ? [] : [compileRules(String(index), rules)],
        );
        const all: Facts = { handle: '', contact: { email: null, phone: null }, ...facts, known, verified };
        let told: Facts = {};
        let judged = judge(compiled, { payment: asked, facts: told, nowMs: at.getTime() });
        for (let question = 0; 'needs' in judged; question++) {
          expect(question).toBeLessThan(4);
          expect(told[judged.needs]).toBeUndefined();
          told = { ...told, [judged.needs]: all[judged.needs] };
          judged = judge(compiled, { payment: asked, facts: told, nowMs: at.getTime() });
        }
        const { outcome, rule, unmatched } = judged;
        expect({ outcome, rule: rule && [Number(rule.place), rule.index] }).toEqual(expected);
        if (unmatched !== undefined) {
          const unmet = findUnmet(unmatched, { payment: asked, facts: all, nowMs: at.getTime() });
          const ways = unmatched.rules.some(({ effect }) => effect !== 'deny');
          expect(unmet === null).toBe(!ways);
        }
        const name = `${outcome} ${rule === null ? 'by no rule' : 'by a rule'}`;
        seen.set(name, (seen.get(name) ?? 0) + 1);
      },
    ),
    { numRuns: 1_000 },
  );
  // The policies would prove little if they all said the same.
  for (const name of ['allow by a rule', 'ask by a rule', 'deny by a rule', 'deny by no rule', 'allow by no rule'])
    expect(seen.get(name) ?? 0, name).toBeGreaterThan(10);
});
