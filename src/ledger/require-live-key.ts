import type { Transaction } from '../kernel/db/database.ts';
import { httpErrors } from '../kernel/http/errors.ts';
import { holdLiveKey, type OwnedKey } from './live-key.ts';

/**
 * Refuses a request whose key was revoked or expired meanwhile, and keeps the key from being revoked until the commit.
 */
export async function requireLiveKey(tx: Transaction, key: OwnedKey): Promise<void> {
  if (await holdLiveKey(tx, key)) return;
  throw httpErrors.unauthorized(undefined, { headers: { 'WWW-Authenticate': 'Bearer' } });
}
