import { encodeAbiParameters, getCreate2Address, type Hex, keccak256, parseUnits } from 'viem';
import { uniswap } from '../../src/chains/abi.ts';
import { assets, type Coin, chains, coins, homeChain } from '../../src/money/catalogue.ts';

/** The traded assets, by the service's names. */
export type Traded = 'USDC' | Coin;

export const tradedTokens: Readonly<Record<Traded, Hex>> = chains[homeChain].tokens;

/** The value of one token, in millionths of a USDC. */
const reference = Object.fromEntries([
  ['USDC', 1_000_000n],
  ...coins.map((coin) => [coin, parseUnits(assets[coin].sandbox.price, 6)]),
]) as Readonly<Record<Traded, bigint>>;

/** Tick spacings by fee, in millionths. */
export const tickSpacings = { 100: 1, 500: 10, 3000: 60 } as const;

/** The init code hash that determines pool addresses. */
const poolCodeHash = '0xe34f199b19b2b4f47f68442619d555527d244f78a3297ea89325f843f87b8b54';

export interface Pool {
  readonly address: Hex;
  /** Sorted by address, as in the contracts. */
  readonly assets: readonly [Traded, Traded];
  readonly fee: keyof typeof tickSpacings;
  /** The expected price as sqrtPriceX96. */
  readonly reference: bigint;
}

export const pools: readonly Pool[] = coins.flatMap((coin) =>
  assets[coin].sandbox.pools.map(({ against, fee }) => poolOf(against, coin, fee)),
);

/** The atomic amount that is worth this many USDC. */
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

/** The integer square root. */
function root(square: bigint): bigint {
  let guess = 1n << BigInt(Math.ceil(square.toString(2).length / 2));
  for (;;) {
    const better = (guess + square / guess) >> 1n;
    if (better >= guess) return guess;
    guess = better;
  }
}
