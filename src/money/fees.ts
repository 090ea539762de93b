import { type Amount, amountOf } from './amount.ts';
import { assets } from './catalogue.ts';

interface FeeRule {
  /** Hundredths of a percent. */
  readonly basisPoints: bigint;
  /** Decimals that the fee keeps; all that the asset has when left out. */
  readonly decimals?: number;
}

/** As the specification shows it. */
export const transferFeeRate = '1.49%';

const transfer: FeeRule = { basisPoints: 149n, decimals: 2 };
const withdrawal: FeeRule = { basisPoints: 149n, decimals: 3 };
const coinWithdrawal: FeeRule = { basisPoints: 149n };
const swap: FeeRule = { basisPoints: 50n };

/** 1.49 % to the cent. Below 34 cents that is nothing: a small payment arrives whole. */
export function transferFee(amount: Amount): Amount {
  return feeBy(transfer, amount);
}

/** The rule of a transfer, charged on top of the price. */
export function orderFee(amount: Amount): Amount {
  return feeBy(transfer, amount);
}

/** 1.49 % to a tenth of a cent; to the last unit of a coin, a thousandth of which may be worth a lot. */
export function withdrawalFee(amount: Amount): Amount {
  return feeBy(assets[amount.asset].decimals > 6 ? coinWithdrawal : withdrawal, amount);
}

/** The smallest amount of a currency whose withdrawal costs at least this fee. */
export function leastWithdrawalFor(fee: Amount): Amount {
  return leastFor(assets[fee.asset].decimals > 6 ? coinWithdrawal : withdrawal, fee);
}

/** The smallest amount of an asset whose swap costs at least this fee. */
export function leastSwapFor(fee: Amount): Amount {
  return leastFor(swap, fee);
}

function leastFor(rule: FeeRule, fee: Amount): Amount {
  const { basisPoints, place, divisor } = scaleOf(rule, fee);
  const places = (fee.atomic + place - 1n) / place;
  // The fee is that many places from the amount on at which it is half a place less than them.
  const doubled = (2n * places - 1n) * divisor;
  return amountOf(fee.asset, places === 0n ? 0n : (doubled + 2n * basisPoints - 1n) / (2n * basisPoints));
}

/** 0.5 % to the last unit of the asset. */
export function swapFee(amount: Amount): Amount {
  return feeBy(swap, amount);
}

/**
 * Half of the last kept place rounds up. A fee can never exceed its amount: it first rounds up to one place at a third of
 * a place over the rate, which is many places of amount.
 */
function feeBy(rule: FeeRule, amount: Amount): Amount {
  const { asset, atomic } = amount;
  if (atomic < 0n) throw new RangeError('there is no fee on a negative amount');
  const { basisPoints, place, divisor } = scaleOf(rule, amount);
  const places = (2n * atomic * basisPoints + divisor) / (2n * divisor);
  return amountOf(asset, places * place);
}

function scaleOf({ basisPoints, decimals }: FeeRule, { asset }: Pick<Amount, 'asset'>) {
  const kept = decimals ?? assets[asset].decimals;
  const place = 10n ** BigInt(assets[asset].decimals - kept);
  return { basisPoints, place, divisor: 10_000n * place };
}
