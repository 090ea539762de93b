import { uuidFrom } from '../../../kernel/ids/uuid-from.ts';

const versionFour = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/**
 * Circle asks for version 4 of a UUID. Any other one stands for the same version 4 every time, so that what was written
 * down still names the request.
 */
export function requestKey(idempotencyKey: string): string {
  const key = idempotencyKey.toLowerCase();
  if (versionFour.test(key)) return key;
  return uuidFrom(`circle:${key}`);
}
