import type { Hex } from 'viem';
import type { Asset } from './catalogue.ts';

/** An amount of one asset to sell for another, in atomic units. */
export interface Wanted {
  readonly from: Asset;
  readonly to: Asset;
  readonly atomic: bigint;
  /** Paths whose pools use more gas do not count. */
  readonly mostGas?: bigint;
}

export interface MarketQuote {
  /** In atomic units. */
  readonly amountOut: bigint;
  /** The price impact of the amount itself, in millionths. The pools' fees are not part of it. */
  readonly impact: bigint;
  /** Gas that the pools on the path use. */
  readonly gas: bigint;
  /** The path in the market's own encoding. */
  readonly path: Hex;
}

/** A trade along a quoted path, made by one transaction. */
export interface Trade {
  readonly from: Asset;
  readonly atomic: bigint;
  readonly path: Hex;
  /** The trade reverts below this output. */
  readonly atLeast: bigint;
  /** Receives the output, and any input that the market does not take. */
  readonly recipient: Hex;
  /** In seconds since the epoch: the trade reverts in a later block. */
  readonly deadline: bigint;
}

export interface MarketCall {
  readonly contract: Hex;
  readonly data: Hex;
  readonly value?: bigint;
}

/** Where one asset is exchanged for another on the home chain. */
export interface Market {
  /** The contract that takes the input, and needs an allowance. */
  readonly spender: Hex;
  /** Undefined when no path connects the two. */
  quote(wanted: Wanted): Promise<MarketQuote | undefined>;
  /**
   * The value by the prices of the deepest pools, so that opening a new pool cannot change it. Undefined when no pool
   * trades the asset.
   */
  worth(wanted: Wanted): Promise<bigint | undefined>;
  /** Native coin is sent along; every other asset must be in the calling wallet, with an allowance. */
  trade(trade: Trade): MarketCall;
  /** The path of one of our trades, decoded from its call data. Undefined for other call data. */
  readWay(data: Hex): Pick<Trade, 'path' | 'recipient'> | undefined;
}

export class MarketUnreachable extends Error {
  override readonly name = 'MarketUnreachable';
}
