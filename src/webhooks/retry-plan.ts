/** The delay after each failed attempt. After the last one the delivery has failed. */
export type RetrySeconds = readonly number[];

export type NextStep =
  | { readonly status: 'delivered' | 'failed' }
  | { readonly status: 'pending'; readonly afterSeconds: number };

export interface AttemptResult {
  /** Null if no response arrived. */
  readonly responseCode: number | null;
  /** The number of this attempt since the delivery was created or replayed, from 1. */
  readonly attemptOfCycle: number;
}

/** 410 Gone: the receiver wants no further requests (RFC 9110). */
export const goneCode = 410;

export function nextStep(
  { responseCode, attemptOfCycle }: AttemptResult,
  retrySeconds: RetrySeconds,
  random: () => number = Math.random,
): NextStep {
  if (responseCode !== null && responseCode >= 200 && responseCode < 300) return { status: 'delivered' };
  const seconds = retrySeconds[attemptOfCycle - 1];
  if (seconds === undefined || responseCode === goneCode) return { status: 'failed' };
  // 10% jitter, so that deliveries that failed together are not retried together.
  return { status: 'pending', afterSeconds: seconds * (0.9 + 0.2 * random()) };
}
