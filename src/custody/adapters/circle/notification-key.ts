import { createPublicKey, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import { ProviderError } from '../../wallets/provider.ts';
import type { CircleClient } from './circle-client.ts';

export type NotificationKey = KeyObject;

const keyAnswer = z.object({
  algorithm: z.literal('ECDSA_SHA_256'),
  publicKey: z.base64().transform((text, context) => {
    try {
      const key = createPublicKey({ key: Buffer.from(text, 'base64'), format: 'der', type: 'spki' });
      if (key.asymmetricKeyType === 'ec') return key;
    } catch {
      // Not a key.
    }
    context.addIssue('must be a public key for ECDSA');
    return z.NEVER;
  }),
});

/** Undefined when Circle has no such key: the notification is not Circle's. */
export async function fetchNotificationKey(circle: CircleClient, id: string): Promise<NotificationKey | undefined> {
  try {
    const { publicKey } = await circle.read(keyAnswer, (sdk) => sdk.getNotificationSignature(id));
    return publicKey;
  } catch (error) {
    if (error instanceof ProviderError && !error.retryable) return undefined;
    throw error;
  }
}
