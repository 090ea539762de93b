import { TryAgain } from '../db/errors.ts';
import type { Caller } from './define-route.ts';

/**
 * What the caller may do has changed during the request, and nothing was written. The request runs again, with a caller whose
 * `stamp` is left out.
 */
export class CallerChanged extends TryAgain {
  override readonly name = 'CallerChanged';

  constructor() {
    super('the policies of the account keep changing');
  }
}

/** Far more than a request meets, unless somebody changes policies without a pause. */
const mostAttempts = 20;

/** Runs the work again when what its caller may do has changed meanwhile. Nothing was written then. */
export async function withPresentCaller<Known extends Caller | undefined, Result>(
  known: Known,
  work: (caller: Known) => Promise<Result>,
): Promise<Result> {
  let caller = known;
  for (let attempt = 1; ; attempt++) {
    try {
      return await work(caller);
    } catch (error) {
      if (!(error instanceof CallerChanged) || caller === undefined || attempt === mostAttempts) throw error;
      const { stamp: _, ...present } = caller;
      caller = present as Known;
    }
  }
}
