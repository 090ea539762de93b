import { type Amount, amountOf } from './amount.ts';
import { type Asset, assets } from './catalogue.ts';

interface FeeRule {
  readonly basisPoints: bigint;
  /** Decimals that the fee is rounded to; all decimals of the asset when left out. */
  readonly decimals?: number;
  /** Computed once per asset. */
  readonly scales: Partial<Record<Asset, Scale>>;
}

interface Scale {
  /** What the fee is a multiple of, in atomic units. */
  readonly place: bigint;
  readonly divisor: bigint;
}

export const transferFeeRate = '1.49%';

const transfer: FeeRule = { basisPoints: 149n, decimals: 2, scales: {} };
const withdrawal: FeeRule = { basisPoints: 149n, decimals: 3, scales: {} };
const coinWithdrawal: FeeRule = { basisPoints: 149n, scales: {} };
const swap: FeeRule = { basisPoints: 50n, scales: {} };

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
  const { basisPoints } = rule;
  const { place, divisor } = scaleOf(rule, fee.asset);
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
  const { place, divisor } = scaleOf(rule, asset);
  const places = (2n * atomic * rule.basisPoints + divisor) / (2n * divisor);
  return amountOf(asset, places * place);
}

function scaleOf(rule: FeeRule, asset: Asset): Scale {
  const known = rule.scales[asset];
  if (known !== undefined) return known;
  const { decimals } = assets[asset];
  const place = 10n ** BigInt(decimals - (rule.decimals ?? decimals));
  const scale = { place, divisor: 10_000n * place };
  rule.scales[asset] = scale;
  return scale;
}
