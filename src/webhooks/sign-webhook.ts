import { createHmac } from 'node:crypto';

const prefix = 'whsec_';

/** A secret in the form of Standard Webhooks holds its key as base64; one that holds none could never be verified. */
export function isUsableSecret(secret: string): boolean {
  if (!secret.startsWith(prefix)) return true;
  return /^[A-Za-z0-9+/]{2,}={0,2}$/.test(secret.slice(prefix.length));
}

export interface SignedMessage {
  readonly id: string;
  readonly timestampSeconds: number;
  readonly body: string;
}

/**
 * Two signatures of the same body. Ours is over the body alone, with the secret as it was given. The one of Standard
 * Webhooks also covers id and time, and takes the bytes that a `whsec_` secret encodes.
 */
export function signatureHeaders(
  secret: string,
  { id, timestampSeconds, body }: SignedMessage,
): Record<'x-paywright-signature' | 'webhook-signature', string> {
  const key = secret.startsWith(prefix) ? Buffer.from(secret.slice(prefix.length), 'base64') : secret;
  const standard = createHmac('sha256', key).update(`${id}.${timestampSeconds}.${body}`).digest('base64');
  return {
    'x-paywright-signature': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
    'webhook-signature': `v1,${standard}`,
  };
}
