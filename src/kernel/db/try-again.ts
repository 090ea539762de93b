/** Something that is needed is busy or cannot be reached. Nothing was written: the same may succeed after a moment. */
export class TryAgain extends Error {
  readonly retryAfterSeconds = 1;
}
