import { httpErrors } from '../http/errors.ts';
import { type Market, type MarketQuote, MarketUnreachable, type Wanted } from './market.ts';

/** For a request that needs the market now. */
export async function quoteOrUnavailable(
  market: Pick<Market, 'quote'>,
  wanted: Wanted,
): Promise<MarketQuote | undefined> {
  try {
    return await market.quote(wanted);
  } catch (error) {
    if (!(error instanceof MarketUnreachable)) throw error;
    throw httpErrors.unavailable(undefined, { headers: { 'Retry-After': '5' } });
  }
}
