/** How long to wait after each failed attempt; after the last of them there is no other. */
export type RetrySeconds = readonly number[];

/** What becomes of a delivery after an attempt. */
export type NextStep =
  | { readonly status: 'delivered' | 'failed' }
  | { readonly status: 'pending'; readonly afterSeconds: number };

export interface AttemptResult {
  /** Null when no answer came. */
  readonly responseCode: number | null;
  /** Of how many failed attempts since it was created or replayed this is the last. */
  readonly attemptOfCycle: number;
}

/** The receiver wants no more of these, ever (RFC 9110). */
export const goneCode = 410;

export function nextStep(
  { responseCode, attemptOfCycle }: AttemptResult,
  retrySeconds: RetrySeconds,
  random: () => number = Math.random,
): NextStep {
  if (responseCode !== null && responseCode >= 200 && responseCode < 300) return { status: 'delivered' };
  const seconds = retrySeconds[attemptOfCycle - 1];
  if (seconds === undefined || responseCode === goneCode) return { status: 'failed' };
  // A tenth more or less: what failed together does not come back together.
  return { status: 'pending', afterSeconds: seconds * (0.9 + 0.2 * random()) };
}
