import fc from 'fast-check';
import { parseGwei } from 'viem';
import { expect, test } from 'vitest';
import { usualCeiling } from '../../chains/gas-fee-ceiling.ts';
import type { Network, Networks } from '../../chains/network.ts';
import { createGasCosts, type GasCosts } from '../../custody/treasury/gas-costs.ts';
import { Problem } from '../../kernel/http/problem.ts';
import { amountOf } from '../../money/amount.ts';
import { withdrawalFee } from '../../money/fees.ts';
import { type Market, MarketUnreachable } from '../../money/market.ts';
import { amountFromNumber } from '../../money/parse-amount.ts';
import { quoteGas, refuseBelowGas } from './cover-gas.ts';
import { type WithdrawalParts, withdrawalRoutes } from './routes.ts';

interface World {
  readonly baseFee?: bigint;
  readonly tip?: bigint;
  /** Thrown by the chain. */
  readonly silence?: Error;
  readonly worth?: Market['worth'];
}

const etherAt =
  (usdc: bigint): Market['worth'] =>
  async ({ atomic }) =>
    (atomic * usdc) / 10n ** 12n;
const at3000 = etherAt(3_000n);
const at30000 = etherAt(30_000n);

function costsIn({ baseFee = parseGwei('10'), tip = 0n, silence, worth = at3000 }: World) {
  const answer = async <Answer>(value: Answer) => {
    if (silence !== undefined) throw silence;
    return value;
  };
  const client = {
    getBlock: () => answer({ baseFeePerGas: baseFee }),
    estimateMaxPriorityFeePerGas: () => answer(tip),
  } as unknown as Network['client'];
  const network = { id: 'ETH', client, feeCeiling: usualCeiling('ETH') } as Network;
  const networks = new Map([['ETH', network]]) as Networks;
  return createGasCosts({ networks, market: { worth }, untradedInUsdc: { AVAX: 0n }, clock: { now: () => 0 } });
}

function ask(world: World, atomic: bigint, asset: 'USDC' | 'EURC' = 'USDC') {
  const gross = amountOf(asset, atomic);
  return cover(costsIn(world), { chain: 'ETH', gross, value: atomic });
}

async function cover(gasCosts: GasCosts, withdrawal: Parameters<typeof quoteGas>[1]): Promise<void> {
  const fee = withdrawalFee(withdrawal.gross);
  refuseBelowGas(await quoteGas(gasCosts, withdrawal), { ...withdrawal, fee });
}

async function refusalOf(asking: Promise<void>): Promise<Problem> {
  const refusal = await asking.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(refusal instanceof Problem)) throw new Error('it was not refused');
  return refusal;
}

test('a fee below the gas cost is refused, and the error names the smallest sufficient amount', async () => {
  // 65,000 units at 10 gwei are 0.00065 ether, which are 1.95 USDC.
  const { code, status, message, extras } = await refusalOf(ask({}, 100_000_000n));
  expect([code, status]).toEqual(['amount_too_small', 400]);
  expect(message).toContain('its fee of 1.49 USDC');
  expect(extras.members).toEqual({ leastAmount: 130.84, currency: 'USDC' });
  await ask({}, 130_840_000n);
  await refusalOf(ask({}, 130_830_000n));
});

test('the smallest amount named is accepted, and a cent less is refused, at any gas price', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.bigInt(parseGwei('0.1'), parseGwei('400')),
      fc.bigInt(0n, parseGwei('60')),
      fc.constantFrom('USDC' as const, 'EURC' as const),
      async (baseFee, tip, asset) => {
        const { extras } = await refusalOf(ask({ baseFee, tip }, 1n, asset));
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

test('the error says so if no amount covers the gas', async () => {
  const { extras, message } = await refusalOf(
    ask({ baseFee: parseGwei('449'), tip: parseGwei('50'), worth: at30000 }, 10_000_000_000n),
  );
  expect(extras.members).toEqual({ leastAmount: null, currency: 'USDC' });
  expect(message).toContain('no allowed amount');
});

test('a node cannot raise the cost above our highest tip', async () => {
  const { extras } = await refusalOf(ask({ baseFee: 0n, tip: parseGwei('1000000') }, 1n));
  const { extras: most } = await refusalOf(ask({ baseFee: 0n, tip: usualCeiling('ETH').priorityFee }, 1n));
  expect(extras.members).toEqual(most.members);
});

test.each<[string, World]>([
  ['the chain', { silence: new Error('silent') }],
  [
    'the market',
    {
      worth: async () => {
        throw new MarketUnreachable();
      },
    },
  ],
  ['a pool for ether', { worth: async () => undefined }],
])('without %s the request can be retried', async (_name, world) => {
  expect(await refusalOf(ask(world, 10_000_000_000n))).toMatchObject({ status: 503, code: 'unavailable' });
});

test('the fee of a coin counts at its market price', async () => {
  // Half an ether at 3,000 USDC costs 22.35 USDC, and the smallest amount is given in ether.
  const costs = (usdc: bigint) => ({ inUsdc: async () => usdc });
  const gross = amountOf('ETH', 5n * 10n ** 17n);
  const withdrawal = { chain: 'MATIC' as const, gross, value: 1_500_000_000n };
  await cover(costs(22_350_000n), withdrawal);
  const { extras } = await refusalOf(cover(costs(22_350_001n), withdrawal));
  expect(extras.members).toEqual({ leastAmount: '0.500000022371364665', currency: 'ETH' });
});

test('a chain that is known not to answer is not asked', async () => {
  let asked = 0;
  const gasCosts: GasCosts = {
    async inUsdc() {
      asked++;
      return 0n;
    },
  };
  // The rest of the commit does not matter here.
  const once = () => Promise.reject(new Error('over'));
  const networks = new Map([['ETH', { tokens: [{ asset: 'USDC', address: `0x${'1'.repeat(40)}` }] }]]);
  const db = { query: async () => ({ rows: [] }) };
  const withdraw = (silent: readonly string[]) => {
    const silentChains = async () => silent;
    const consent = { forPayment: () => ({ stamp: 0n, spends: [] }) };
    const parts = { db, networks, gasCosts, silentChains, once, consent, brakes: {} } as unknown as WithdrawalParts;
    return withdrawalRoutes(parts)
      .find(({ spec }) => spec.id === 'withdraw')
      ?.handle({ caller: {}, body: { amount: 5, currency: 'USDC', chain: 'ETH', address: `0x${'2'.repeat(40)}` } });
  };
  await expect(withdraw(['ETH'])).rejects.toThrow('over');
  expect(asked).toBe(0);
  await expect(withdraw([])).rejects.toThrow('over');
  expect(asked).toBe(1);
});
