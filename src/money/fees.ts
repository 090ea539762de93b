import { type Amount, amountOf } from './amount.ts';
import { assets } from './catalogue.ts';

interface FeeRule {
  readonly basisPoints: bigint;
  /** Decimals that the fee is rounded to; all decimals of the asset when left out. */
  readonly decimals?: number;
}

export const transferFeeRate = '1.49%';

const transfer: FeeRule = { basisPoints: 149n, decimals: 2 };
const withdrawal: FeeRule = { basisPoints: 149n, decimals: 3 };
const coinWithdrawal: FeeRule = { basisPoints: 149n };
const swap: FeeRule = { basisPoints: 50n };

/** 1.49 %, rounded to the cent. Below 34 cents that is zero. */
export function transferFee(amount: Amount): Amount {
  return feeBy(transfer, amount);
}

/** The same rule as a transfer, charged on top of the price. */
export function orderFee(amount: Amount): Amount {
  return feeBy(transfer, amount);
}

/**
 * 1.49 %, rounded to a tenth of a cent. For a coin no decimals are dropped, because a thousandth of a coin may be worth
 * a lot.
 */
export function withdrawalFee(amount: Amount): Amount {
  return feeBy(assets[amount.asset].decimals > 6 ? coinWithdrawal : withdrawal, amount);
}

export function leastWithdrawalFor(fee: Amount): Amount {
  return leastFor(assets[fee.asset].decimals > 6 ? coinWithdrawal : withdrawal, fee);
}

export function leastSwapFor(fee: Amount): Amount {
  return leastFor(swap, fee);
}

function leastFor(rule: FeeRule, fee: Amount): Amount {
  const { basisPoints, place, divisor } = scaleOf(rule, fee);
  const places = (fee.atomic + place - 1n) / place;
  // Fees round half up, so the fee reaches `places` when the exact fee is half a place below.
  const doubled = (2n * places - 1n) * divisor;
  return amountOf(fee.asset, places === 0n ? 0n : (doubled + 2n * basisPoints - 1n) / (2n * basisPoints));
}

/** 0.5 %, with all decimals of the asset. */
export function swapFee(amount: Amount): Amount {
  return feeBy(swap, amount);
}

/**
 * Rounds half up. A fee never exceeds its amount: it rounds up to a first place only when the amount is many places.
 */
function feeBy(rule: FeeRule, amount: Amount): Amount {
  const { asset, atomic } = amount;
  if (atomic < 0n) throw new RangeError('a negative amount has no fee');
  const { basisPoints, place, divisor } = scaleOf(rule, amount);
  const places = (2n * atomic * basisPoints + divisor) / (2n * divisor);
  return amountOf(asset, places * place);
}

function scaleOf({ basisPoints, decimals }: FeeRule, { asset }: Pick<Amount, 'asset'>) {
  const kept = decimals ?? assets[asset].decimals;
  const place = 10n ** BigInt(assets[asset].decimals - kept);
  return { basisPoints, place, divisor: 10_000n * place };
}
