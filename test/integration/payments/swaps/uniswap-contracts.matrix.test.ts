import {
  encodeAbiParameters,
  encodeFunctionData,
  getCreate2Address,
  type Hex,
  keccak256,
  pad,
  parseAbi,
  parseEther,
  parseUnits,
  toHex,
} from 'viem';
import { describe, expect, test } from 'vitest';
import { marketMaker } from '../../../../sandbox/accounts.ts';
import { readArtifact } from '../../../../sandbox/chains/contract-code.ts';
import { mapped } from '../../../../sandbox/compiled-contracts.ts';
import { positionManager } from '../../../../sandbox/uniswap/place-uniswap.ts';
import { pools, type Traded, tradedTokens } from '../../../../sandbox/uniswap/pools.ts';
import { uniswap } from '../../../../src/chains/abi.ts';
import { useChains } from '../../../support/chains.ts';
import { useDatabase } from '../../../support/database.ts';
import { oneOfMany } from '../../../support/matrix.ts';
import { pathOf, useMarket } from '../../../support/uniswap.ts';

const chains = useChains(useDatabase());
const market = useMarket(chains);

const abi = parseAbi([
  'function factory() view returns (address)',
  'function WETH9() view returns (address)',
  'function positionManager() view returns (address)',
  'function owner() view returns (address)',
  'function name() view returns (string)',
  'function balanceOf(address owner) view returns (uint256)',
  'function ownerOf(uint256 id) view returns (address)',
  'function feeAmountTickSpacing(uint24 fee) view returns (int24)',
  'function getPool(address one, address other, uint24 fee) view returns (address)',
  'function DOMAIN_SEPARATOR() view returns (bytes32)',
]);

function read<Result>(address: Hex, functionName: string, args: readonly unknown[] = []): Promise<Result> {
  const { client } = chains.network('MATIC');
  return client.readContract({ abi, address, functionName, args } as never) as Promise<Result>;
}

const assets: readonly Traded[] = ['USDC', 'DAI', 'ETH', 'MATIC'];
/** A hundred USDC's worth of each. */
const hundred: Readonly<Record<Traded, bigint>> = {
  USDC: 100_000_000n,
  DAI: parseEther('100'),
  ETH: parseEther('0.1') / 3n,
  MATIC: parseEther('200'),
};

describe('the contracts are as their constructors leave them', () => {
  test('they know each other, and the wrapped coin', async () => {
    for (const address of [positionManager, uniswap.quoter, uniswap.router]) {
      expect(await read(address, 'factory')).toBe(uniswap.factory);
      expect(await read(address, 'WETH9')).toBe(tradedTokens.MATIC);
    }
    expect(await read(uniswap.router, 'positionManager')).toBe(positionManager);
    expect(await read(positionManager, 'name')).toBe('Uniswap V3 Positions NFT-V1');
  });

  test('the factory has its owner, the fees of the real one, and the pools where everybody computes them', async () => {
    expect(await read(uniswap.factory, 'owner')).toBe(marketMaker.address);
    const fees = [100, 500, 3_000, 10_000, 77].map((fee) => read(uniswap.factory, 'feeAmountTickSpacing', [fee]));
    expect(await Promise.all(fees)).toEqual([1, 10, 60, 200, 0]);
    for (const {
      address,
      assets: [one, other],
      fee,
    } of pools) {
      const asked = read(uniswap.factory, 'getPool', [tradedTokens[other], tradedTokens[one], fee]);
      expect(await asked).toBe(address);
      expect(await read(address, 'factory')).toBe(uniswap.factory);
    }
    // As on the real chain.
    expect(pools.map(({ address }) => address)).toEqual(
      expect.arrayContaining([
        '0xA4D8c89f0c20efbe54cBa9e7e7a7E509056228D9',
        '0xB6e57ed85c4c9dbfEF2a68711e9d6f36c56e0FcB',
      ]),
    );
  });

  test('the factory works at its own address, and not for somebody who borrows its code', async () => {
    const { client } = chains.network('MATIC');
    const data = encodeFunctionData({
      abi: parseAbi(['function createPool(address one, address other, uint24 fee) returns (address)']),
      args: [tradedTokens.MATIC, tradedTokens.DAI, 3_000],
    });
    const { bytecode } = readArtifact('@uniswap/v3-core/artifacts/contracts/UniswapV3Pool.sol/UniswapV3Pool');
    const key = encodeAbiParameters(
      [{ type: 'address' }, { type: 'address' }, { type: 'uint24' }],
      [tradedTokens.MATIC, tradedTokens.DAI, 3_000],
    );
    const pool = getCreate2Address({ from: uniswap.factory, salt: keccak256(key), bytecode });
    expect((await client.call({ to: uniswap.factory, data })).data).toBe(pad(pool).toLowerCase());

    const borrower: Hex = '0x00000000000000000000000000000000000000f0';
    const code: Hex = `0x363d3d373d3d3d363d73${uniswap.factory.slice(2)}5af43d82803e903d91602b57fd5bf3`;
    // It has the fee of this pool in its storage, so that nothing but the address speaks against it.
    const stateDiff = [{ slot: toHex(mapped(4n, 3_000), { size: 32 }), value: toHex(60, { size: 32 }) }];
    const stateOverride = [{ address: borrower, code, stateDiff }];
    const spacing = encodeFunctionData({ abi, functionName: 'feeAmountTickSpacing', args: [3_000] });
    expect((await client.call({ to: borrower, data: spacing, stateOverride })).data).toBe(toHex(60, { size: 32 }));
    await expect(client.call({ to: borrower, data, stateOverride })).rejects.toThrow();
  });

  test('the liquidity belongs to the market maker, position by position', async () => {
    expect(await read(positionManager, 'balanceOf', [marketMaker.address])).toBe(BigInt(pools.length));
    expect(await read(positionManager, 'ownerOf', [1n])).toBe(marketMaker.address);
    expect(await read<Hex>(positionManager, 'DOMAIN_SEPARATOR')).toMatch(/^0x[0-9a-f]{64}$/);
  });
});

describe('the market', () => {
  test('has the prices of the sandbox: ETH 3,000, MATIC 0.50, DAI 1', async () => {
    for (const pool of pools) expect(Math.abs(await market.deviationOf(pool))).toBeLessThan(1);
    const sold = (asset: Traded, amountIn: bigint) => market.quote({ path: pathOf(asset, 'USDC'), amountIn });
    const near = (atomic: bigint, usdc: string) =>
      expect(Number(atomic) / Number(parseUnits(usdc, 6))).toBeCloseTo(0.9995, 3);
    near(await sold('ETH', parseEther('1')), '3000');
    near(await sold('MATIC', parseEther('1')), '0.5');
    near(await sold('DAI', parseEther('1')), '1');
  });

  const pairs = assets.flatMap((from) => assets.filter((to) => to !== from).map((to) => [from, to] as const));
  for (const [from, to] of pairs) {
    test(
      `${from} is swapped for ${to}, and what was quoted is paid`,
      oneOfMany({ isRepresentative: from === 'MATIC' }),
      async () => {
        const amountIn = hundred[from];
        const ada = await chains.outsider({
          tokens: [{ asset: from === 'MATIC' ? 'WMATIC' : from, atomic: amountIn }],
        });
        const swap = { path: pathOf(from, to), amountIn };
        const quoted = await market.quote(swap);
        expect(await market.swap(ada, swap)).toBe(quoted);
        expect(await market.balanceOf(from, ada.address)).toBe(0n);
        // Less the fees of at most two pools, it is worth what it was.
        expect(Number(quoted) / Number(hundred[to])).toBeGreaterThan(0.996);
        expect(Number(quoted) / Number(hundred[to])).toBeLessThan(1);
      },
    );
  }

  test('a swap and back loses only fees and the way that the price has gone', async () => {
    const amountIn = 1_000_000_000n;
    const ada = await chains.outsider({ tokens: [{ asset: 'USDC', atomic: amountIn }] });
    const ether = await market.swap(ada, { path: pathOf('USDC', 'ETH'), amountIn });
    const back = await market.swap(ada, { path: pathOf('ETH', 'USDC'), amountIn: ether });
    expect(Number(back) / Number(amountIn)).toBeGreaterThan(0.9989);
    expect(back).toBeLessThan(amountIn);
  });

  test('10,000 USDC move no price by 0.3 %', async () => {
    await market.restMarketMaker();
    for (const pool of pools) {
      for (const [from, to] of [pool.assets, pool.assets.toReversed() as unknown as typeof pool.assets]) {
        const before = await market.priceOf(pool);
        const amountIn = hundred[from] * 100n;
        const ada = await chains.outsider({
          tokens: [{ asset: from === 'MATIC' ? 'WMATIC' : from, atomic: amountIn }],
        });
        await market.swap(ada, { path: [from, [pool.fee, to]], amountIn });
        const moved = Number(((await market.priceOf(pool)) * 1_000_000n) / before) / 1_000_000;
        expect(Math.abs(moved ** 2 - 1)).toBeLessThan(0.003);
        expect(Math.abs(moved ** 2 - 1)).toBeGreaterThan(0.0005);
      }
    }
  });
});
