import type { GasCosts, GasWork } from '../../custody/treasury/gas-costs.ts';
import { type Amount, add, amountOf } from '../../money/amount.ts';
import type { ChainId } from '../../money/catalogue.ts';

/** To fill the wallet that burns, to allow the protocol to take the amount, and to burn it. */
export const leavingWork: GasWork = { gas: 250_000n, bytes: 750n };

/** To deliver the message. */
export const arrivingWork: GasWork = { gas: 200_000n, bytes: 850n };

/** What the gas of a cross-chain transfer costs on one chain, in USDC. */
export interface ChainGas {
  readonly leaving: Amount;
  readonly arriving: Amount;
  /** A transfer from or to this chain carries at least so much. */
  readonly minimum: Amount;
}

/** Quoted minimums are whole cents. */
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
  readonly minimum: Amount;
}

/** What the gas of both ends costs together, and the least that a transfer may be. */
export async function gasBetween(gasCosts: GasCosts, from: ChainId, to: ChainId): Promise<GasFee> {
  const [source, target] = await Promise.all([gasOn(gasCosts, from), gasOn(gasCosts, to)]);
  return {
    fee: add(source.leaving, target.arriving),
    minimum: source.minimum.atomic > target.minimum.atomic ? source.minimum : target.minimum,
  };
}

const usdc = (atomic: bigint) => amountOf('USDC', atomic);
