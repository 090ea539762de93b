import { createHmac } from 'node:crypto';

const prefix = 'whsec_';

/** A `whsec_` secret holds its key in base64 (Standard Webhooks). Without a valid key no receiver could verify a signature. */
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
 * Two signatures of the same body. `x-paywright-signature` covers the body alone and uses the secret as given. The Standard
 * Webhooks signature also covers id and timestamp and uses the key that a `whsec_` secret encodes.
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
