import type { GasCosts, GasWork } from '../../custody/treasury/gas-costs.ts';
import { type Amount, add, amountOf } from '../../money/amount.ts';
import type { ChainId } from '../../money/catalogue.ts';

/** Fill the wallet, approve the protocol, burn. */
export const leavingWork: GasWork = { gas: 250_000n, bytes: 750n };

/** Deliver the message. */
export const arrivingWork: GasWork = { gas: 200_000n, bytes: 850n };

/** The gas of a cross-chain transfer on one chain, in USDC. */
export interface ChainGas {
  readonly leaving: Amount;
  readonly arriving: Amount;
  /** The smallest transfer from or to this chain. */
  readonly minimum: Amount;
}

/** Minimums are rounded up to whole cents. */
const cent = 10_000n;

export async function gasOn(gasCosts: GasCosts, chain: ChainId): Promise<ChainGas> {
  const [leaving, arriving] = await Promise.all([
    gasCosts.inUsdc(chain, leavingWork),
    gasCosts.inUsdc(chain, arrivingWork),
  ]);
  // Twice the gas of a chain, so that the larger minimum of two chains is always above the fee between them.
  const minimum = ((2n * (leaving + arriving) + cent - 1n) / cent) * cent;
  return { leaving: usdc(leaving), arriving: usdc(arriving), minimum: usdc(minimum) };
}

export interface GasFee {
  readonly fee: Amount;
  /** The part of the fee that pays for the source chain. */
  readonly leaving: Amount;
  readonly minimum: Amount;
}

/** The gas of both chains together, and the smallest transfer between them. */
export async function gasBetween(gasCosts: GasCosts, from: ChainId, to: ChainId): Promise<GasFee> {
  const [source, target] = await Promise.all([gasOn(gasCosts, from), gasOn(gasCosts, to)]);
  return {
    fee: add(source.leaving, target.arriving),
    leaving: source.leaving,
    minimum: source.minimum.atomic > target.minimum.atomic ? source.minimum : target.minimum,
  };
}

const usdc = (atomic: bigint) => amountOf('USDC', atomic);
