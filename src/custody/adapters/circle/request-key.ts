import { uuidFrom } from '../../../kernel/ids/uuid-from.ts';

const versionFour = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/**
 * Circle requires UUID version 4. Any other UUID maps to the same version 4 every time, so that a stored key still
 * names the request.
 */
export function requestKey(idempotencyKey: string): string {
  const key = idempotencyKey.toLowerCase();
  if (versionFour.test(key)) return key;
  return uuidFrom(`circle:${key}`);
}
