import { encodeAbiParameters, getCreate2Address, type Hex, keccak256, parseUnits } from 'viem';
import { uniswap } from '../../src/chains/uniswap.ts';
import { assets, type Coin, chains, coins, homeChain } from '../../src/money/catalogue.ts';

/** What is traded here, by the service's own names. */
export type Traded = 'USDC' | Coin;

export const tradedTokens: Readonly<Record<Traded, Hex>> = chains[homeChain].tokens;

/** What one whole token is worth, in millionths of a USDC. */
const reference = Object.fromEntries([
  ['USDC', 1_000_000n],
  ...coins.map((coin) => [coin, parseUnits(assets[coin].sandbox.price, 6)]),
]) as Readonly<Record<Traded, bigint>>;

/** How fine the prices of a pool are, by its fee in millionths. */
export const tickSpacings = { 100: 1, 500: 10, 3000: 60 } as const;

/** The hash of the code that makes a pool, by which its address is known before it is made. */
const poolCodeHash = '0xe34f199b19b2b4f47f68442619d555527d244f78a3297ea89325f843f87b8b54';

export interface Pool {
  readonly address: Hex;
  /** In the order of their addresses, as the contracts have it. */
  readonly assets: readonly [Traded, Traded];
  readonly fee: keyof typeof tickSpacings;
  /** What its price should be: the root of how much of the second one of the first is worth, times 2^96. */
  readonly reference: bigint;
}

export const pools: readonly Pool[] = coins.flatMap((coin) =>
  assets[coin].sandbox.pools.map(({ against, fee }) => poolOf(against, coin, fee)),
);

/** How much of it is worth so many whole USDC. */
export function worth(asset: Traded, usdc: bigint): bigint {
  return (usdc * reference.USDC * 10n ** BigInt(assets[asset].decimals)) / reference[asset];
}

function poolOf(one: Traded, other: Traded, fee: Pool['fee']): Pool {
  const isFirst = BigInt(tradedTokens[one]) < BigInt(tradedTokens[other]);
  const [first, second] = isFirst ? [one, other] : [other, one];
  const key = encodeAbiParameters(
    [{ type: 'address' }, { type: 'address' }, { type: 'uint24' }],
    [tradedTokens[first], tradedTokens[second], fee],
  );
  return {
    address: getCreate2Address({ from: uniswap.factory, salt: keccak256(key), bytecodeHash: poolCodeHash }),
    assets: [first, second],
    fee,
    reference: root((worth(second, 1_000_000n) << 192n) / worth(first, 1_000_000n)),
  };
}

/** The largest whole number whose square is not more. */
function root(square: bigint): bigint {
  let guess = 1n << BigInt(Math.ceil(square.toString(2).length / 2));
  for (;;) {
    const better = (guess + square / guess) >> 1n;
    if (better >= guess) return guess;
    guess = better;
  }
}
