import { encodeAbiParameters, getCreate2Address, type Hex, keccak256 } from 'viem';
import { chains } from '../../chains/chains.ts';
import { coinTokens } from '../../chains/coins.ts';
import { uniswap } from '../../chains/uniswap.ts';
import { decimalsOf } from '../../money/asset.ts';

/** What is traded here, by the service's own names. */
export type Traded = 'USDC' | 'DAI' | 'ETH' | 'MATIC';

export const tradedTokens: Readonly<Record<Traded, Hex>> = { USDC: chains.MATIC.tokens.USDC, ...coinTokens };

/** What one whole token is worth, in millionths of a USDC. */
const reference: Readonly<Record<Traded, bigint>> = {
  USDC: 1_000_000n,
  DAI: 1_000_000n,
  ETH: 3_000_000_000n,
  MATIC: 500_000n,
};

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

/**
 * As on the real chain: the cheaper fee where most is traded, and a dearer pool beside it. Between MATIC and DAI there is
 * none, so that one pair has to go by way of another.
 */
export const pools: readonly Pool[] = [
  poolOf('USDC', 'ETH', 500),
  poolOf('USDC', 'ETH', 3000),
  poolOf('USDC', 'MATIC', 500),
  poolOf('USDC', 'DAI', 100),
  poolOf('ETH', 'MATIC', 500),
  poolOf('ETH', 'DAI', 3000),
];

/** How much of it is worth so many whole USDC. */
export function worth(asset: Traded, usdc: bigint): bigint {
  return (usdc * reference.USDC * 10n ** BigInt(decimalsOf[asset])) / reference[asset];
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
