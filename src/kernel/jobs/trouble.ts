import { BaseError, HttpRequestError, type RpcRequestError, TimeoutError } from 'viem';
import type { Logger } from '../log/logger.ts';

/** Tells of trouble once, not on every try, and again only when it has changed or is over. */
export interface Trouble {
  readonly last: string | undefined;
  report(error: unknown): void;
  over(): void;
}

export function createTrouble(logger: Logger, fields: Readonly<Record<string, unknown>>, what: string): Trouble {
  let last: string | undefined;
  return {
    get last() {
      return last;
    },
    report(error) {
      const trouble = describeTrouble(error);
      if (trouble === last) return;
      last = trouble;
      logger.error({ ...fields, trouble }, what);
    },
    over() {
      if (last !== undefined) logger.info({ ...fields, was: last }, `${what}: it is over`);
      last = undefined;
    },
  };
}

/**
 * In few words, always the same for the same trouble. The whole message of a failed request would hold the node's address.
 * Secrets of that address which the node repeats were taken out where the error arose (`chains/discreet-transport.ts`).
 */
export function describeTrouble(error: unknown): string {
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

/** Whether a node has answered with an error, such as that a range is too wide, rather than not answered at all. */
export function wasRefused(error: unknown): boolean {
  if (!(error instanceof BaseError)) return false;
  const http = error.walk((inner) => inner instanceof HttpRequestError) as HttpRequestError | null;
  if (http !== null) return http.status !== undefined && http.status >= 400 && http.status < 500 && http.status !== 429;
  return error.walk((inner) => isRpcRequestError(inner)) !== null;
}

/** Too slow an answer may be one to too wide a question. */
export function wasTooSlow(error: unknown): boolean {
  return error instanceof BaseError && error.walk((inner) => inner instanceof TimeoutError) !== null;
}

function isRpcRequestError(error: unknown): error is RpcRequestError {
  return error instanceof BaseError && error.name === 'RpcRequestError';
}

/** Longer after every failure, and never at the same moment as others. */
export function backOffMs(failures: number, { from, most }: { readonly from: number; readonly most: number }): number {
  const full = Math.min(most, from * 2 ** Math.min(failures - 1, 16));
  return full / 2 + Math.random() * (full / 2);
}
