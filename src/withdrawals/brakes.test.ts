import { expect, test } from 'vitest';
import { z } from 'zod';
import { amountOf } from '../money/amount.ts';
import type { Given } from '../settings.ts';
import type { Market } from '../swaps/market.ts';
import { brakeSettings } from './brakes.ts';
import { refuseBeyondValue } from './value-limits.ts';

const parse = (env: Given) => z.object(brakeSettings.variables).parse(env) as never;
const refused = (env: Given) => brakeSettings.refuseLive?.(parse(env), env) ?? [];

test('unless the operator says otherwise, an account sends 25,000 a day and the service 100,000 an hour', () => {
  const usual = 25_000_000_000n;
  expect(brakeSettings.read(parse({}), 'live')).toEqual({
    perDay: { free: usual, pro: usual, enterprise: usual },
    perHour: 100_000_000_000n,
    allowListDelayHours: 24,
  });
  expect(refused({})).toEqual([]);
});

test.each([
  ['WITHDRAWAL_DAILY_LIMIT_FREE', '0'],
  ['WITHDRAWAL_DAILY_LIMIT_PRO', '0'],
  ['WITHDRAWALS_PER_HOUR', '0'],
  ['WITHDRAWAL_ALLOW_LIST_DELAY_HOURS', '11'],
])('live mode refuses %s=%s', (name, value) => {
  expect(refused({ [name]: value })).toEqual([expect.stringMatching(`^${name} is unsafe: `)]);
});

test('what was agreed with an enterprise is the operator’s business', () => {
  const env = { WITHDRAWAL_DAILY_LIMIT_ENTERPRISE: '0', WITHDRAWAL_ALLOW_LIST_DELAY_HOURS: '12' };
  expect(refused(env)).toEqual([]);
  expect(brakeSettings.read(parse(env), 'live')).toMatchObject({ perDay: { enterprise: undefined } });
});

test.each(['-1', '1.5', 'none', '1000000001'])('a limit of %s is none that can be set', (value) => {
  expect(() => parse({ WITHDRAWALS_PER_HOUR: value })).toThrow('must be a whole number');
});

test('a coin is not worth less because there is so much of it that only the smallest pool says what it pays', async () => {
  // Ether at 3,000 USDC. What is beyond twenty takes more steps in the deep pool than a quote may, and the shallow one has 5,000.
  const market = {
    quote: async ({ atomic }: { readonly atomic: bigint }) =>
      atomic > 20n * 10n ** 18n
        ? { amountOut: 5_000_000_000n, impact: 990_000n, path: '0x' }
        : { amountOut: (atomic * 3_000n) / 10n ** 12n, impact: 0n, path: '0x' },
  } as unknown as Market;
  const ether = (whole: bigint) => refuseBeyondValue(market, amountOf('ETH', whole * 10n ** 18n));
  expect(await ether(3n)).toBe(9_000_000_000n);
  for (const much of [4n, 1_000n]) await expect(ether(much)).rejects.toMatchObject({ code: 'invalid_request' });
});
