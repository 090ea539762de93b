import type { Hex } from 'viem';
import type { Asset } from './catalogue.ts';

/** How much of one asset is to be sold for another, in atomic units. */
export interface Wanted {
  readonly from: Asset;
  readonly to: Asset;
  readonly atomic: bigint;
  /** What the pools on the way may use of gas. Ways that use more do not count. */
  readonly mostGas?: bigint;
}

export interface MarketQuote {
  /** What would be paid now, in atomic units. */
  readonly amountOut: bigint;
  /** How much of it is lost because the amount itself moves the price, in millionths. The pools' own fees are not part of it. */
  readonly impact: bigint;
  /** What the pools on the way use of gas. */
  readonly gas: bigint;
  /** The way through the market, as the market itself writes it. */
  readonly path: Hex;
}

/** A trade along a path that was quoted, to be made by one transaction. */
export interface Trade {
  readonly from: Asset;
  readonly atomic: bigint;
  readonly path: Hex;
  /** Below that it is not made. */
  readonly atLeast: bigint;
  /** Gets what is paid, and of what is sold whatever the market does not take. */
  readonly recipient: Hex;
  /** In seconds since the epoch: in a later block it is not made. */
  readonly deadline: bigint;
}

export interface MarketCall {
  readonly contract: Hex;
  readonly data: Hex;
  /** Native coin that goes along. */
  readonly value?: bigint;
}

/** Where one asset is exchanged for another on the home chain. */
export interface Market {
  /** Who takes what is sold, and must be allowed to. */
  readonly spender: Hex;
  /** Undefined when there is no way from the one to the other. */
  quote(wanted: Wanted): Promise<MarketQuote | undefined>;
  /**
   * What so much is worth, by the prices where most is traded: whoever opens a pool of his own cannot change it. Undefined when nobody
   * trades it.
   */
  worth(wanted: Wanted): Promise<bigint | undefined>;
  /** Native coin is paid as such; every other asset must be in the wallet that calls, and allowed. */
  trade(trade: Trade): MarketCall;
  /** The way that a trade of ours went, from what it told the market. Undefined when it was something else. */
  readWay(data: Hex): Pick<Trade, 'path' | 'recipient'> | undefined;
}

/** The market could not be asked. */
export class MarketUnreachable extends Error {
  override readonly name = 'MarketUnreachable';
}
