import type { Clock } from '../kernel/clock.ts';
import type { Amount } from '../money/amount.ts';
import { type Asset, assets, type Currency, isCoin } from '../money/catalogue.ts';
import type { Market } from '../money/market.ts';
import { consentErrors } from './errors.ts';

/** Tells the rate of the euro. An operator sets it; another adapter could ask for it. */
export interface EuroRate {
  /** In atomic units of USDC for a whole EURC. Undefined when it is not known. */
  usdcPerEurc(): bigint | undefined;
}

export interface RateParts {
  readonly market: Pick<Market, 'worth'>;
  readonly euro: EuroRate;
  /** Only its differences count. */
  readonly clock: Clock;
}

/** The price of an atomic unit in atomic units of USDC, as a fraction. */
interface Price {
  readonly usdc: bigint;
  readonly per: bigint;
}

/** Counts payments in the currency of a budget. */
export interface Rates {
  /** Rounded up, so that the budget never counts less than was paid. Throws or rejects with `rate_unavailable`. */
  inCurrency(amount: Amount, currency: Currency): bigint | Promise<bigint>;
}

/** How old the price of a coin may be. */
const keepMs = 60_000;
const keepFailureMs = 5_000;

interface Kept {
  readonly until: number;
  readonly asked: Promise<Price | undefined>;
  /** Once the market has answered. */
  price?: Price | undefined;
}

export function createRates({ market, euro, clock }: RateParts): Rates {
  const kept = new Map<Asset, Kept>();

  function priceOf(asset: Asset): Price | undefined | Promise<Price | undefined> {
    if (asset === 'USDC') return { usdc: 1n, per: 1n };
    if (asset === 'EURC') return priceOfEuro();
    if (!isCoin(asset)) return undefined;
    const before = kept.get(asset);
    if (before !== undefined && clock.now() < before.until) return before.price ?? before.asked;
    const entry: Kept = { until: clock.now() + keepMs, asked: askMarket(asset) };
    kept.set(asset, entry);
    void entry.asked.then((price) => {
      entry.price = price;
      if (price === undefined) kept.set(asset, { until: clock.now() + keepFailureMs, asked: entry.asked });
    });
    return entry.asked;
  }

  function priceOfEuro(): Price | undefined {
    const rate = euro.usdcPerEurc();
    return rate === undefined ? undefined : { usdc: rate, per: unitOf('EURC') };
  }

  /** The price of the deepest pools, without the impact of an amount: one coin is as good as a thousandth, and more exact. */
  async function askMarket(asset: Asset): Promise<Price | undefined> {
    const per = unitOf(asset);
    const worth = await market.worth({ from: asset, to: 'USDC', atomic: per }).catch(() => undefined);
    // The market rounds down.
    return worth === undefined ? undefined : { usdc: worth + 1n, per };
  }

  return {
    inCurrency({ asset, atomic }, currency) {
      if (asset === currency) return atomic;
      const target = priceOf(currency) as Price | undefined;
      if (target === undefined) throw consentErrors.rate_unavailable();
      const price = priceOf(asset);
      if (!(price instanceof Promise)) return convert(atomic, price, target);
      const converted = price.then((known) => convert(atomic, known, target));
      // The next budget of the same payment may throw first, and then nobody waits for this one.
      converted.catch(() => {});
      return converted;
    },
  };
}

function convert(atomic: bigint, price: Price | undefined, target: Price): bigint {
  if (price === undefined) throw consentErrors.rate_unavailable();
  const [numerator, denominator] = [atomic * price.usdc * target.per, price.per * target.usdc];
  const converted = (numerator + denominator - 1n) / denominator;
  return converted < mostSpent ? converted : mostSpent;
}

/** Budgets count in 64 bits, and no budget is as large as this. */
const mostSpent = 2n ** 63n - 1n;

function unitOf(asset: Asset): bigint {
  return 10n ** BigInt(assets[asset].decimals);
}
