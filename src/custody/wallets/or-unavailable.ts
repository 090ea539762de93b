import { httpErrors } from '../../kernel/http/errors.ts';
import { ProviderError } from './provider.ts';

/** Turns a retryable failure of the wallet provider into 503 with Retry-After. */
export async function orUnavailable<Result>(asking: Promise<Result>): Promise<Result> {
  try {
    return await asking;
  } catch (error) {
    if (!(error instanceof ProviderError && error.retryable)) throw error;
    const seconds = Math.max(1, Math.ceil((error.retryAfterMs ?? 1_000) / 1_000));
    throw httpErrors.unavailable(undefined, { headers: { 'Retry-After': String(seconds) } });
  }
}
