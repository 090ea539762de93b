/** A dependency is busy or unreachable. Nothing was written, so the caller may retry after a moment. */
export class TryAgain extends Error {
  readonly retryAfterSeconds = 1;
}
