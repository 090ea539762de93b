import { httpErrors } from '../http/errors.ts';
import type { Amount } from '../money/amount.ts';
import type { Market } from '../swaps/market.ts';
import { quoteOrUnavailable } from '../swaps/quote-swap.ts';

/** In atomic units of USDC or EURC. */
const least = 1_000_000n;
const most = 10_000_000_000n;

/** Of a currency that is worth what it says. */
export function refuseBeyondLimits({ atomic }: Amount): void {
  if (atomic < least || atomic > most) throw refusal('must be from 1 to 10000');
}

/** Of a coin: what the market pays for it now counts. */
export async function refuseBeyondValue(market: Market, { asset, atomic }: Amount): Promise<void> {
  const quote = await quoteOrUnavailable(market, { from: asset, to: 'USDC', atomic });
  // What no pool can pay is more than it may be.
  const value = quote?.amountOut ?? most + 1n;
  if (value < least || value > most) throw refusal('must be worth from 1 to 10000 USDC');
}

function refusal(message: string) {
  return httpErrors.invalid_request(`amount ${message}.`, { errors: [{ path: 'amount', message }] });
}
