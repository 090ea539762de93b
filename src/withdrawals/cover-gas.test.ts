import fc from 'fast-check';
import { parseGwei } from 'viem';
import { expect, test } from 'vitest';
import { usualCeiling } from '../chains/fee-ceiling.ts';
import type { Network, Networks } from '../chains/network.ts';
import { Problem } from '../http/problem.ts';
import { amountOf } from '../money/amount.ts';
import { withdrawalFee } from '../money/fees.ts';
import { amountFromNumber } from '../money/parse-amount.ts';
import { type Market, MarketUnreachable } from '../swaps/market.ts';
import { refuseBelowGas } from './cover-gas.ts';
import { type WithdrawalParts, withdrawalRoutes } from './routes.ts';

interface World {
  readonly baseFee?: bigint;
  readonly tip?: bigint;
  /** Thrown by the chain. */
  readonly silence?: Error;
  readonly quote?: Market['quote'];
}

/** Ether at 3,000 USDC. */
const at3000: Market['quote'] = async ({ atomic }) => ({
  amountOut: (atomic * 3_000n) / 10n ** 12n,
  impact: 0n,
  path: '0x',
});

function parts({ baseFee = parseGwei('10'), tip = 0n, silence, quote = at3000 }: World) {
  const answer = async <Answer>(value: Answer) => {
    if (silence !== undefined) throw silence;
    return value;
  };
  const client = {
    getBlock: () => answer({ baseFeePerGas: baseFee }),
    estimateMaxPriorityFeePerGas: () => answer(tip),
  } as unknown as Network['client'];
  const network = { id: 'ETH', client, feeCeiling: usualCeiling('ETH') } as Network;
  return { networks: new Map([['ETH', network]]) as Networks, market: { quote } as Market };
}

const ask = (world: World, gross: bigint, asset: 'USDC' | 'EURC' = 'USDC') =>
  refuseBelowGas(parts(world), { chain: 'ETH', fee: withdrawalFee(amountOf(asset, gross)) });

async function refusalOf(asking: Promise<void>): Promise<Problem> {
  const refusal = await asking.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(refusal instanceof Problem)) throw new Error('it was not refused');
  return refusal;
}

test('a fee that does not pay for the gas is refused, with the smallest amount that does', async () => {
  // 65,000 units at 10 gwei are 0.00065 ether, which are 1.95 USDC.
  const { code, status, message, extras } = await refusalOf(ask({}, 100_000_000n));
  expect([code, status]).toEqual(['amount_too_small', 400]);
  expect(message).toContain('its fee is 1.49 USDC');
  expect(extras.members).toEqual({ leastAmount: 130.91, currency: 'USDC' });
  await ask({}, 130_910_000n);
  await refusalOf(ask({}, 130_900_000n));
});

test('the amount that is told is accepted, and a cent less is not, whatever the gas costs', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.bigInt(parseGwei('0.1'), parseGwei('400')),
      fc.bigInt(0n, parseGwei('60')),
      fc.constantFrom('USDC' as const, 'EURC' as const),
      async (baseFee, tip, asset) => {
        const { extras } = await refusalOf(ask({ baseFee, tip }, 0n, asset));
        const { leastAmount, currency } = extras.members ?? {};
        expect(currency).toBe(asset);
        const parsed = amountFromNumber(asset, Number(leastAmount));
        if (!parsed.ok) throw new Error(parsed.message);
        await ask({ baseFee, tip }, parsed.amount.atomic, asset);
        await refusalOf(ask({ baseFee, tip }, parsed.amount.atomic - 10_000n, asset));
      },
    ),
    { numRuns: 50 },
  );
});

test('what no amount pays for is told as such', async () => {
  const { extras, message } = await refusalOf(ask({ baseFee: parseGwei('1000') }, 10_000_000_000n));
  expect(extras.members).toEqual({ leastAmount: null, currency: 'USDC' });
  expect(message).toContain('No amount');
});

test('a node cannot make it dearer than what we would ever give as a tip', async () => {
  const { extras } = await refusalOf(ask({ baseFee: 0n, tip: parseGwei('1000000') }, 0n));
  const { extras: most } = await refusalOf(ask({ baseFee: 0n, tip: usualCeiling('ETH').priorityFee }, 0n));
  expect(extras.members).toEqual(most.members);
});

test.each<[string, World]>([
  ['the chain', { silence: new Error('silent') }],
  [
    'the market',
    {
      quote: async () => {
        throw new MarketUnreachable();
      },
    },
  ],
  ['a pool for ether', { quote: async () => undefined }],
])('without %s it is tried again later', async (_name, world) => {
  expect(await refusalOf(ask(world, 10_000_000_000n))).toMatchObject({ status: 503, code: 'unavailable' });
});

test('elsewhere nothing is asked', async () => {
  const silent = parts({ silence: new Error('asked') });
  await refuseBelowGas(silent, { chain: 'MATIC', fee: amountOf('USDC', 0n) });
});

test('a chain that is known to be silent is not waited for', async () => {
  let asked = 0;
  const client = { getBlock: async () => void asked++, estimateMaxPriorityFeePerGas: async () => void asked++ };
  const networks = new Map([['ETH', { id: 'ETH', client, feeCeiling: usualCeiling('ETH') }]]);
  // What would be part of the commit is of no matter here.
  const once = () => Promise.reject(new Error('over'));
  const withdraw = (silent: readonly string[]) =>
    withdrawalRoutes({ networks, silentChains: async () => silent, once, brakes: {} } as unknown as WithdrawalParts)
      .find(({ spec }) => spec.id === 'withdraw')
      ?.handle({ caller: {}, body: { amount: 5, currency: 'USDC', chain: 'ETH' } });
  await expect(withdraw(['ETH'])).rejects.toThrow('over');
  expect(asked).toBe(0);
  await expect(withdraw([])).rejects.toThrow('over');
  expect(asked).toBe(2);
});
