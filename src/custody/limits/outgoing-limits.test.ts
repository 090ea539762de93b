import { expect, test } from 'vitest';
import { z } from 'zod';
import type { Given } from '../../kernel/settings.ts';
import { amountOf } from '../../money/amount.ts';
import type { Market } from '../../money/market.ts';
import { limitSettings } from './outgoing-limits.ts';
import { refuseBeyondValue } from './value-limits.ts';

const parse = (env: Given) => z.object(limitSettings.variables).parse(env) as never;
const refused = (env: Given) => limitSettings.refuseLive?.(parse(env), env) ?? [];

test('unless the operator says otherwise, an account sends 25,000 a day and the service 100,000 an hour', () => {
  const usual = 25_000_000_000n;
  expect(limitSettings.read(parse({}), 'live')).toEqual({
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
])('live mode refuses %s=%s', (name, value) => {
  expect(refused({ [name]: value })).toEqual([expect.stringMatching(`^${name} is unsafe: `)]);
});

test('what was agreed with an enterprise is the operator’s business', () => {
  const env = { WITHDRAWAL_DAILY_LIMIT_ENTERPRISE: '0' };
  expect(refused(env)).toEqual([]);
  expect(limitSettings.read(parse(env), 'live')).toMatchObject({ perDay: { enterprise: undefined } });
});

test.each(['-1', '1.5', 'none', '1000000001'])('a limit of %s is none that can be set', (value) => {
  expect(() => parse({ WITHDRAWALS_PER_HOUR: value })).toThrow('must be a whole number');
});

test('a coin is worth what the deep pools say, however much of it there is', async () => {
  // Ether at 3,000 USDC.
  const market = {
    worth: async ({ atomic }: { readonly atomic: bigint }) => (atomic * 3_000n) / 10n ** 12n,
  } as unknown as Market;
  const ether = (whole: bigint) => refuseBeyondValue(market, amountOf('ETH', whole * 10n ** 18n));
  expect(await ether(3n)).toBe(9_000_000_000n);
  for (const much of [4n, 1_000n]) await expect(ether(much)).rejects.toMatchObject({ code: 'invalid_request' });
});
