import { TryAgain } from '../db/errors.ts';

/**
 * What the caller may do has changed during the request, and nothing was written. `run-route.ts` runs the request again,
 * with a caller whose `stamp` is left out.
 */
export class CallerChanged extends TryAgain {
  override readonly name = 'CallerChanged';

  constructor() {
    super('the policies of the account keep changing');
  }
}
