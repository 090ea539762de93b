import { createPublicKey, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import { ProviderError } from '../../wallets/provider.ts';
import { readAnswer } from './answers.ts';
import type { CircleClient } from './circle-client.ts';

export type NotificationKey = KeyObject;

const keyAnswer = z.object({ algorithm: z.literal('ECDSA_SHA_256'), publicKey: z.base64() });

/** Undefined when Circle has no such key: then whoever named it is not Circle. */
export async function fetchNotificationKey(circle: CircleClient, id: string): Promise<NotificationKey | undefined> {
  try {
    const { publicKey } = readAnswer(keyAnswer, await circle.read((sdk) => sdk.getNotificationSignature(id)));
    const key = createPublicKey({ key: Buffer.from(publicKey, 'base64'), format: 'der', type: 'spki' });
    return key.asymmetricKeyType === 'ec' ? key : undefined;
  } catch (error) {
    if (error instanceof ProviderError && !error.retryable) return undefined;
    throw error;
  }
}
