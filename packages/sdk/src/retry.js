import { PaywrightError } from './error.js';

const firstDelayMs = 250;
const longestDelayMs = 8_000;
/** Whoever is asked to wait longer decides what to do with the time. */
const longestWaitMs = 60_000;

/**
 * Whether an attempt that failed may be followed by another one. What was refused because of a limit has not been done. All else may
 * have been done, and is repeated only if that has no further effect.
 *
 * @param {unknown} error
 * @param {boolean} isRepeatable
 */
function mayRetry(error, isRepeatable) {
  if (!(error instanceof PaywrightError)) return false;
  const { status, code } = error;
  if (status === 429) return true;
  if (!isRepeatable) return false;
  if (status === 503 || code === 'idempotency_in_progress') return true;
  // No answer, a part of one, or that of a proxy which got none.
  return (
    code === 'connection_lost' ||
    code === 'timeout' ||
    (code === 'unexpected_response' && (status === 502 || status === 504))
  );
}

/**
 * Seconds, or a date.
 *
 * @param {string | null} value
 */
export function readRetryAfter(value) {
  if (value === null) return undefined;
  const text = value.trim();
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

/**
 * With jitter, so that many clients do not come back at the same moment.
 *
 * @param {number} attempt
 * @param {number | undefined} askedMs
 */
function delayBefore(attempt, askedMs) {
  const upTo = Math.min(longestDelayMs, firstDelayMs * 2 ** attempt);
  return askedMs === undefined ? upTo * (0.5 + Math.random() / 2) : askedMs + Math.random() * firstDelayMs;
}

/**
 * @template T
 * @param {() => Promise<T>} attempt
 * @param {{ maxRetries: number, isRepeatable: boolean, signal: AbortSignal | undefined }} options
 * @returns {Promise<T>}
 */
export async function withRetries(attempt, { maxRetries, isRepeatable, signal }) {
  for (let retries = 0; ; retries++) {
    signal?.throwIfAborted();
    try {
      return await attempt();
    } catch (error) {
      if (retries >= maxRetries || !mayRetry(error, isRepeatable)) throw error;
      const askedMs = error instanceof PaywrightError ? error.retryAfterMs : undefined;
      if (askedMs !== undefined && askedMs > longestWaitMs) throw error;
      await sleep(delayBefore(retries, askedMs), signal);
    }
  }
}

/**
 * @param {number} ms
 * @param {AbortSignal | undefined} signal
 * @returns {Promise<void>}
 */
function sleep(ms, signal) {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', stop);
    };
    const stop = () => {
      end();
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      end();
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop);
    // It may have been aborted while the attempt failed.
    if (signal?.aborted) stop();
  });
}
