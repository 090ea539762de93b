/**
 * What went wrong, as the service says it: branch on `code`. The members of the problem, such as `errors` or `duplicateOf`, are
 * members of the error.
 */
export class PaywrightError extends Error {
  /**
   * @param {string} message
   * @param {import('./index.d.ts').PaywrightErrorFacts} facts
   */
  constructor(message, { code, status = 0, requestId, retryAfterMs, members = {}, cause }) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.status = status;
    this.requestId = requestId;
    this.retryAfterMs = retryAfterMs;
    /** @type {string | undefined} */
    this.idempotencyKey = undefined;
    for (const [name, value] of Object.entries(members)) {
      // Some members come from a shop or a seller. They must not pass as something else.
      if (name in this) continue;
      Object.defineProperty(this, name, { value, enumerable: true });
    }
  }
}
// Of the prototype, so that console.log shows it once.
Object.defineProperty(PaywrightError.prototype, 'name', { value: 'PaywrightError' });
