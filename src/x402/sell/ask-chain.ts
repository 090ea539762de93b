import { BaseError } from 'viem';
import { httpErrors } from '../../kernel/http/errors.ts';

/** Answers 503 when the chain does not respond; nothing was charged then. */
export async function askChain<Result>(asking: Promise<Result>): Promise<Result> {
  try {
    return await asking;
  } catch (error) {
    if (!(error instanceof BaseError)) throw error;
    throw httpErrors.unavailable('Payments cannot be verified right now. Nothing was charged. Try again.', {
      headers: { 'Retry-After': '5' },
    });
  }
}
