import { httpErrors } from '../../kernel/http/errors.ts';
import type { Amount } from '../../money/amount.ts';
import { isCoin, isCurrency } from '../../money/catalogue.ts';
import type { Market } from '../../money/market.ts';
import { orUnavailable } from '../treasury/gas-costs.ts';

/** In atomic units of USDC or EURC. */
const leastValue = 1_000_000n;
export const mostValue = 10_000_000_000n;

/**
 * The value of a currency in atomic units of USDC, at face value, euros included. Undefined for a coin, which only the
 * market can price.
 */
export function faceValue({ asset, atomic }: Amount): bigint | undefined {
  return isCurrency(asset) ? atomic : undefined;
}

/** For a currency. */
export function refuseBeyondLimits({ atomic }: Amount): void {
  if (atomic < leastValue || atomic > mostValue) throw refusal('must be from 1 to 10000');
}

/** For a coin, by its market value now. Returns that value in atomic units of USDC. */
export async function refuseBeyondValue(market: Market, { asset, atomic }: Amount): Promise<bigint> {
  if (!isCoin(asset)) throw new TypeError(`${asset} is not a coin`);
  // A coin without a market price counts as above the limit.
  const value = (await orUnavailable(market.worth({ from: asset, to: 'USDC', atomic }))) ?? mostValue + 1n;
  if (value < leastValue || value > mostValue) throw refusal('must be worth from 1 to 10000 USDC');
  return value;
}

function refusal(message: string) {
  return httpErrors.invalid_request(`amount ${message}.`, { errors: [{ path: 'amount', message }] });
}
