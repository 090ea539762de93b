import { encodeFunctionData, type Hex, maxUint256, parseAbi } from 'viem';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { positionManager } from '../../../../sandbox/uniswap/place-uniswap.ts';
import { tradedTokens } from '../../../../sandbox/uniswap/pools.ts';
import type { Networks } from '../../../../src/chains/network.ts';
import { createKeysProvider } from '../../../../src/custody/adapters/keys/keys-provider.ts';
import { createSecrets } from '../../../../src/kernel/secrets/secrets.ts';
import { amountOf } from '../../../../src/money/amount.ts';
import { swapFee } from '../../../../src/money/fees.ts';
import { type Market, MarketUnreachable } from '../../../../src/money/market.ts';
import { describeSwap } from '../../../../src/payments/swaps/response.ts';
import type { Swap } from '../../../../src/payments/swaps/swap.ts';
import type { SwapToken } from '../../../../src/payments/swaps/tokens.ts';
import type { User } from '../../../support/deposits.ts';
import { oneOfMany } from '../../../support/matrix.ts';
import { useSwapWorld } from '../../../support/swaps.ts';
import { poolOf, useMarket } from '../../../support/uniswap.ts';
import { startUnrulyRpc } from '../../../support/unruly-rpc.ts';

const world = useSwapWorld();
const { chains, log } = world.deposits;
const { db } = world.deposits.database;
const market = useMarket(chains);

const amounts = {
  USDC: amountOf('USDC', 100_000_000n),
  ETH: amountOf('ETH', 10n ** 17n),
  MATIC: amountOf('MATIC', 200n * 10n ** 18n),
  DAI: amountOf('DAI', 100n * 10n ** 18n),
} as const;
const priceMoved = 'The price moved by more than 1 % before the swap was made.';
const tooLate = 'The swap could not be made before its deadline.';

interface Begun {
  readonly user: User;
  readonly id: string;
  readonly from: SwapToken;
  readonly to: SwapToken;
}

/** Valid for a day: the chain's clock is put forward here. */
async function begin(
  from: SwapToken,
  to: SwapToken,
  how: { readonly poolGas?: bigint; readonly validSeconds?: number } = {},
): Promise<Begun> {
  const user = await world.newRich(amounts[from]);
  return { user, id: await world.open(user, amounts[from], to, { validSeconds: 86_400, ...how }), from, to };
}

const netOf = (asset: SwapToken) => amounts[asset].atomic - swapFee(amounts[asset]).atomic;

/** MATIC costs so many per mille more, or less, than it did, whichever way one goes. */
async function moveMatic(perMille: number): Promise<void> {
  await market.movePrice({ asset: 'MATIC', pool: poolOf('USDC', 'MATIC'), perMille });
  await market.movePrice({ asset: 'MATIC', pool: poolOf('ETH', 'MATIC'), perMille });
}

async function expectSwapped({ user, id, from, to }: Begun): Promise<Swap> {
  const swap = await world.goOn(id, 'completed');
  expect(await world.balance(user, from)).toBe(swap.unspent.atomic);
  expect(await world.balance(user, to)).toBe(swap.amountOut?.atomic);
  expect(await world.eventsOf(user)).toEqual(['swap.completed']);
  return swap;
}

/** Nothing was swapped: the whole amount is its owner's, the fee too, and in the treasury. */
async function expectBack({ user, id, from, to }: Begun, go = world.advance): Promise<Swap> {
  const swap = await world.goOn(id, 'failed', go);
  expect(await world.balance(user, from)).toBe(amounts[from].atomic);
  expect(await world.balance(user, to)).toBe(0n);
  expect(await world.eventsOf(user)).toEqual(['swap.failed']);
  return swap;
}

const stepsOf = async (id: string) => (await world.steps(id)).map(({ step, state }) => `${step} ${state}`);

/** Signs the swap and lets nobody have it yet, as a node that takes it and tells no other. */
async function signOnly(id: string): Promise<void> {
  const settings = chains.local.settings.get('MATIC');
  if (settings === undefined) throw new Error('there is no Polygon');
  const rpc = await startUnrulyRpc('MATIC', settings);
  rpc.misbehave(({ method }) => (method === 'eth_sendRawTransaction' ? 'down' : undefined));
  const networks: Networks = new Map([...chains.networks, ['MATIC', rpc.network]]);
  const provider = await createKeysProvider({
    db,
    networks,
    logger: log.logger,
    secrets: createSecrets('s'.repeat(32)),
  });
  await world.runnerOf({ provider }).advance({ saga: 'swap', id });
  expect(await world.look(id)).toMatchObject({ status: 'swapping', txHash: expect.any(String) });
}

beforeAll(() => market.restMarketMaker());

afterAll(async () => {
  await world.checkAtRest();
  for (const asset of ['USDC', 'ETH', 'DAI'] as const) expect(await world.allowance(asset)).toBe(0n);
});

describe('a price that moves', () => {
  afterEach(() => moveMatic(0));

  for (const [from, to, move] of [
    ['USDC', 'MATIC', 15],
    ['MATIC', 'USDC', -15],
  ] as const) {
    test(
      `by more than one percent before ${from} is prepared for ${to}: nothing is sent, and all is back`,
      oneOfMany({ isRepresentative: from === 'MATIC' }),
      async () => {
        const begun = await begin(from, to);
        await world.goOn(begun.id, 'preparing', world.step);
        await moveMatic(move);
        expect(await expectBack(begun)).toMatchObject({ error: priceMoved, txHash: null });
        expect(await stepsOf(begun.id)).toEqual(
          from === 'MATIC'
            ? ['fill confirmed', 'unwrap confirmed', 'wrap confirmed']
            : ['fill confirmed', 'approve confirmed', 'return confirmed', 'disallow confirmed'],
        );
      },
    );
  }

  for (const [from, to, move] of [
    ['USDC', 'MATIC', 15],
    ['MATIC', 'USDC', -15],
  ] as const) {
    test(
      `by more than one percent after ${from} was prepared for ${to}: it is refused`,
      oneOfMany({ isRepresentative: from === 'USDC' }),
      async () => {
        const begun = await begin(from, to);
        await world.goOn(begun.id, 'swapping', world.step);
        await moveMatic(move);
        expect(await expectBack(begun)).toMatchObject({ error: priceMoved, txHash: null });
      },
    );
  }

  for (const [from, to, move] of [
    ['USDC', 'MATIC', 15],
    ['MATIC', 'USDC', -15],
  ] as const) {
    test(
      `by more than one percent when the swap of ${from} for ${to} was sent: the chain undoes it, and its owner is told why`,
      oneOfMany({ isRepresentative: from === 'MATIC' }),
      async () => {
        const begun = await begin(from, to);
        await world.goOn(begun.id, 'swapping', world.step);
        await signOnly(begun.id);
        await moveMatic(move);
        const { error, txHash } = await expectBack(begun);
        expect(await chains.network('MATIC').client.getTransactionReceipt({ hash: txHash as Hex })).toMatchObject({
          status: 'reverted',
        });
        expect(error).toBe(priceMoved);
      },
    );
  }

  for (const [from, to, move] of [
    ['USDC', 'MATIC', 6],
    ['MATIC', 'USDC', -6],
  ] as const) {
    test(
      `by less than one percent: ${from} is swapped for ${to}, and how much less it was is told`,
      oneOfMany({ isRepresentative: from === 'USDC' }),
      async () => {
        const begun = await begin(from, to);
        await world.goOn(begun.id, 'swapping', world.step);
        await moveMatic(move);
        const swap = await expectSwapped(begun);
        expect(swap.amountOut?.atomic).toBeLessThan(swap.quoted.atomic);
        expect(swap.amountOut?.atomic).toBeGreaterThanOrEqual(swap.amountOutMin.atomic);
        const slippage = Number(describeSwap(swap).slippage);
        expect(slippage).toBeGreaterThan(0.005);
        expect(slippage).toBeLessThan(0.0065);
      },
    );
  }

  for (const [from, to, move] of [
    ['USDC', 'MATIC', -20],
    ['MATIC', 'USDC', 20],
  ] as const) {
    test(
      `in its owner's favour: whoever sells ${from} for ${to} gets more`,
      oneOfMany({ isRepresentative: from === 'MATIC' }),
      async () => {
        const begun = await begin(from, to);
        await world.goOn(begun.id, 'swapping', world.step);
        await moveMatic(move);
        const swap = await expectSwapped(begun);
        expect(swap.amountOut?.atomic).toBeGreaterThan((swap.quoted.atomic * 1_015n) / 1_000n);
        expect(Number(describeSwap(swap).slippage)).toBeLessThan(-0.015);
      },
    );
  }

  test('on one way only: it goes another', async () => {
    const begun = await begin('USDC', 'MATIC');
    await world.goOn(begun.id, 'preparing', world.step);
    await market.movePrice({ asset: 'MATIC', pool: poolOf('USDC', 'MATIC'), perMille: 20 });
    const { path, amountOut, amountOutMin } = await expectSwapped(begun);
    expect(path).toContain(tradedTokens.ETH.slice(2).toLowerCase());
    expect(amountOut?.atomic).toBeGreaterThanOrEqual(amountOutMin.atomic);
  });
});

describe('a deadline that passes', () => {
  test('while it waits for the treasury: nobody is asked for anything', async () => {
    const user = await world.deposits.newUser();
    // In a wallet of its owner, and not in the treasury.
    const much = amountOf('USDC', 1_000_000_000n);
    await chains.mint('MATIC', 'USDC', user.address, much.atomic);
    await world.read();
    const [late, punctual] = [
      await world.open(user, amountOf('USDC', 900_000_000n), 'DAI', { validSeconds: -1 }),
      await begin('USDC', 'DAI'),
    ];
    const swap = await world.goOn(late, 'failed');
    expect(swap).toMatchObject({ error: tooLate, txHash: null });
    expect(await world.steps(late)).toEqual([]);
    expect(await world.balance(user, 'USDC')).toBe(much.atomic);
    // Whoever came behind it is first now.
    await expectSwapped(punctual);
  });

  for (const from of ['USDC', 'MATIC'] as const) {
    test(
      `while ${from} is prepared: nothing is swapped`,
      oneOfMany({ isRepresentative: from === 'MATIC' }),
      async () => {
        const begun = await begin(from, 'ETH', { validSeconds: -1 });
        expect(await expectBack(begun)).toMatchObject({ error: tooLate, txHash: null });
      },
    );
  }

  test('while the market does not answer: it is not waited for', async () => {
    const begun = await begin('USDC', 'ETH', { validSeconds: -1 });
    const silent: Market = {
      ...world.market(),
      quote: () => Promise.reject(new MarketUnreachable('the chain does not answer')),
    };
    const runner = world.runnerOf({ market: silent });
    await expectBack(begun, (id) => runner.advance({ saga: 'swap', id }));
  });

  for (const from of ['USDC', 'MATIC'] as const) {
    test(
      `before the swap of ${from} is sent: it is refused`,
      oneOfMany({ isRepresentative: from === 'USDC' }),
      async () => {
        const begun = await begin(from, 'ETH', { validSeconds: 1_200 });
        await world.goOn(begun.id, 'swapping', world.step);
        await chains.rpc('MATIC', 'evm_increaseTime', [1_300]);
        await chains.mine('MATIC');
        expect(await expectBack(begun)).toMatchObject({ error: tooLate, txHash: null });
      },
    );
  }

  for (const from of ['USDC', 'MATIC'] as const) {
    test(
      `when the swap of ${from} was sent: the chain undoes it`,
      oneOfMany({ isRepresentative: from === 'USDC' }),
      async () => {
        const late =
          (await chains.network('MATIC').client.getBlock()).timestamp - BigInt(Math.floor(Date.now() / 1_000));
        const begun = await begin(from, 'ETH', { validSeconds: Number(late) + 1_200 });
        await world.goOn(begun.id, 'swapping', world.step);
        await signOnly(begun.id);
        await chains.rpc('MATIC', 'evm_increaseTime', [1_300]);
        const { error, txHash } = await expectBack(begun);
        expect(await chains.network('MATIC').client.getTransactionReceipt({ hash: txHash as Hex })).toMatchObject({
          status: 'reverted',
        });
        expect(error).toBe(tooLate);
      },
    );
  }
});

describe('pools that run dry within the last percent', () => {
  const abi = parseAbi([
    'function approve(address spender, uint256 amount) returns (bool)',
    'function createAndInitializePoolIfNecessary(address token0, address token1, uint24 fee, uint160 sqrtPriceX96) payable returns (address pool)',
    'struct MintParams { address token0; address token1; uint24 fee; int24 tickLower; int24 tickUpper; uint256 amount0Desired; uint256 amount1Desired; uint256 amount0Min; uint256 amount1Min; address recipient; uint256 deadline; }',
    'function mint(MintParams params) payable',
  ]);

  /** A pool of MATIC and DAI, which pays 3 % more than all others, and has so much and no more. */
  async function openPool({ sells, fee, atomic }: { sells: 'MATIC' | 'DAI'; fee: 500 | 3000; atomic: bigint }) {
    const owner = await chains.outsider({ tokens: [{ asset: sells === 'MATIC' ? 'WMATIC' : 'DAI', atomic }] });
    const send = async (to: Hex, data: Hex) => {
      const { client } = chains.network('MATIC');
      const hash = await owner
        .wallet()
        .sendTransaction({ account: owner.account, chain: null, to, data, gas: 8_000_000n });
      expect(await client.waitForTransactionReceipt({ hash, pollingInterval: 20 })).toMatchObject({
        status: 'success',
      });
    };
    // MATIC comes first: the price is in DAI, and MATIC is worth half of one.
    const [token0, token1] = [tradedTokens.MATIC, tradedTokens.DAI];
    const spacing = { 500: 10, 3000: 60 }[fee];
    const price = 0.5 * (sells === 'MATIC' ? 0.97 : 1.03);
    const tick = Math.round(Math.log(price) / Math.log(1.0001) / spacing) * spacing;
    const sqrtPrice = BigInt(Math.round(1.0001 ** (tick / 2) * 2 ** 52)) << 44n;
    await send(
      tradedTokens[sells],
      encodeFunctionData({ abi, functionName: 'approve', args: [positionManager, maxUint256] }),
    );
    await send(
      positionManager,
      encodeFunctionData({
        abi,
        functionName: 'createAndInitializePoolIfNecessary',
        args: [token0, token1, fee, sqrtPrice],
      }),
    );
    // What is sold lies above the price if it is the first, and below it if it is the second.
    const tickLower = sells === 'MATIC' ? tick + spacing : tick - 2 * spacing;
    await send(
      positionManager,
      encodeFunctionData({
        abi,
        functionName: 'mint',
        args: [
          {
            token0,
            token1,
            fee,
            tickLower,
            tickUpper: tickLower + spacing,
            amount0Desired: sells === 'MATIC' ? atomic : 0n,
            amount1Desired: sells === 'DAI' ? atomic : 0n,
            amount0Min: 0n,
            amount1Min: 0n,
            recipient: owner.address,
            deadline: maxUint256,
          },
        ],
      }),
    );
  }

  // A pool that runs dry is searched for more to its very end, which takes more gas than a quote allows for.
  for (const [from, to, fee, how] of [
    ['DAI', 'MATIC', 500, { poolGas: 5_000_000n }],
    ['MATIC', 'DAI', 3_000, { poolGas: 500_000n }],
  ] as const) {
    test(
      `take less than all of ${from}: the rest is its owner’s, in the treasury, and nobody may take it`,
      oneOfMany({ isRepresentative: from === 'DAI', isBuiltOn: true }),
      async () => {
        const fees = await world.owed('fees', from);
        // Half as much again as is needed.
        const all = (amounts[to].atomic * 155n) / 100n;
        await openPool({ sells: to, fee, atomic: all });
        const begun = await begin(from, to, how);
        const { id } = begun;
        const { quoted } = await world.goOn(id, 'swapping', world.step);
        // Somebody buys until only 99.5 % of it are left there.
        const left = (quoted.atomic * 995n) / 1_000n;
        const other = await chains.outsider({
          tokens: [{ asset: from === 'MATIC' ? 'WMATIC' : from, atomic: 10n * amounts[from].atomic }],
        });
        await market.swap(other, {
          path: [from, [fee, to]],
          amountIn: ((all - left) * netOf(from)) / quoted.atomic,
        });
        const inTreasury = await world.held('treasury', from);
        const swap = await expectSwapped(begun);
        expect(swap.unspent.atomic).toBeGreaterThan(netOf(from) / 1_000n);
        expect(swap.unspent.atomic).toBeLessThan(netOf(from) / 100n);
        expect((await world.held('treasury', from)) - inTreasury).toBe(swap.unspent.atomic);
        expect((await world.owed('fees', from)) - fees).toBe(swapFee(amounts[from]).atomic);
        expect(describeSwap(swap).unspent).not.toBe('0');
        await world.read();
        expect(Object.values(await world.differences()).filter((difference) => difference !== '0')).toEqual([]);
      },
    );
  }
});
