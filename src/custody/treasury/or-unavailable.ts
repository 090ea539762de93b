import { httpErrors } from '../../kernel/http/errors.ts';
import { MarketUnreachable } from '../../money/market.ts';

/** Turns a failing market into 503 with Retry-After. */
export async function orUnavailable<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    if (!(error instanceof MarketUnreachable)) throw error;
    throw httpErrors.unavailable(undefined, { headers: { 'Retry-After': '5' } });
  }
}
