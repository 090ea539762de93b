import { BaseError, HttpRequestError, TimeoutError } from 'viem';
import type { Logger } from '../log/logger.ts';

/** Logs an error once instead of on every retry, and again only when it changes or is resolved. */
export interface ErrorReporter {
  readonly last: string | undefined;
  report(error: unknown): void;
  over(): void;
}

export function createErrorReporter(
  logger: Logger,
  fields: Readonly<Record<string, unknown>>,
  what: string,
): ErrorReporter {
  let last: string | undefined;
  return {
    get last() {
      return last;
    },
    report(error) {
      const trouble = describeError(error);
      if (trouble === last) return;
      last = trouble;
      logger.error({ ...fields, trouble }, what);
    },
    over() {
      if (last !== undefined) logger.info({ ...fields, was: last }, `${what}: resolved`);
      last = undefined;
    },
  };
}

/**
 * A short description, equal for equal errors. The full message of a failed request would contain the node's URL.
 * chains/redacting-transport.ts removes secrets that a node echoes.
 */
export function describeError(error: unknown): string {
  if (error instanceof BaseError) {
    const { details } = error;
    const short = error.shortMessage.split('\n')[0] ?? '';
    return withoutUrls(details && !short.includes(details) ? `${short} (${details})` : short);
  }
  return withoutUrls(error instanceof Error ? `${error.name}: ${error.message}` : String(error));
}

function withoutUrls(text: string): string {
  return text.replace(/\w+:\/\/\S+/g, '[url]').slice(0, 300);
}

/** Whether a node responded with an error, such as a block range that is too wide, instead of not responding. */
export function wasRefusedByNode(error: unknown): boolean {
  if (!(error instanceof BaseError)) return false;
  const http = error.walk((inner) => inner instanceof HttpRequestError) as HttpRequestError | null;
  if (http !== null) return http.status !== undefined && http.status >= 400 && http.status < 500 && http.status !== 429;
  return error.walk((inner) => inner instanceof BaseError && inner.name === 'RpcRequestError') !== null;
}

/** A timeout may also mean that the block range was too wide. */
export function wasTooSlow(error: unknown): boolean {
  return error instanceof BaseError && error.walk((inner) => inner instanceof TimeoutError) !== null;
}

/** Exponential backoff with jitter. */
export function backOffMs(failures: number, { from, most }: { readonly from: number; readonly most: number }): number {
  const full = Math.min(most, from * 2 ** Math.min(failures - 1, 16));
  return full / 2 + Math.random() * (full / 2);
}
