import type { Secrets } from '../secrets/secrets.ts';
import type { IdempotencyClaim } from './define-route.ts';
import { httpErrors } from './errors.ts';

/** Hash requests, so that a repeated one is recognised. */
export type RequestHashes = Pick<Secrets, 'digest' | 'formerDigests'>;

export interface ClaimedRequest {
  readonly routeId: string;
  /** As they stand in the path. */
  readonly params: unknown;
  /** After validation. */
  readonly body: unknown;
}

export function requireIdempotencyKey(key: unknown): string {
  if (typeof key === 'string' && /^[\x20-\x7e]{1,255}$/.test(key)) return key;
  throw httpErrors.invalid_request('Idempotency-Key must be 1 to 255 printable ASCII characters.');
}

/** The stored fingerprint is a keyed hash, because the request may hold a secret that could be guessed from a plain one. */
export function claimOf(
  key: string,
  { routeId, params, body }: ClaimedRequest,
  secrets: RequestHashes,
): IdempotencyClaim {
  // The JSON of an array of the three. An array around them would only cost time.
  const content = `[${jsonOf(routeId)},${jsonOf(params)},${jsonOf(body)}]`;
  const requestHash = secrets.digest(content);
  const { formerDigests } = secrets;
  // Hashed with a secret that was replaced since.
  return formerDigests ? { key, requestHash, formerHashes: () => formerDigests(content) } : { key, requestHash };
}

/** As in an array, where a missing value is null. */
function jsonOf(value: unknown): string {
  return JSON.stringify(value) ?? 'null';
}
