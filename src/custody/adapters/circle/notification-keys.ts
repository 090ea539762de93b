import { createPublicKey, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import { type Clock, monotonicClock } from '../../../kernel/clock.ts';
import { createMemoryLimiter } from '../../../kernel/rate-limit/memory-limiter.ts';
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

export interface NotificationKeys {
  /**
   * Undefined when Circle has no such key. Throws when the sender's network has named so many keys that we stop asking
   * for a while.
   */
  find(id: string, network: string): Promise<NotificationKey | undefined>;
}

export interface NotificationKeysOptions {
  readonly fetch: (id: string) => Promise<NotificationKey | undefined>;
  readonly clock?: Clock;
}

/** Circle uses one key at a time and rotates it now and then. */
const keysKept = 16;

/**
 * Anyone can name an unknown key, and asking Circle for each would use up our own rate limit. Every network has a small
 * quota of its own, so that invented keys from elsewhere do not keep the real one from being fetched.
 */
const questionsOfNetwork = { limit: 6, windowMs: 60_000 };
const questionsInAll = { limit: 120, windowMs: 60_000 };

/** The keys that Circle signs notifications with. A key never changes under its id. */
export function createNotificationKeys({ fetch, clock = monotonicClock }: NotificationKeysOptions): NotificationKeys {
  const keys = new Map<string, NotificationKey>();
  const underWay = new Map<string, Promise<NotificationKey | undefined>>();
  const asked = createMemoryLimiter(clock);

  async function ask(id: string, network: string): Promise<NotificationKey | undefined> {
    const mayAsk =
      (await asked.take(`network:${network}`, questionsOfNetwork)).allowed &&
      (await asked.take('all', questionsInAll)).allowed;
    if (!mayAsk) {
      throw new ProviderError('Too many unknown keys were requested.', { retryable: true, code: 'provider_busy' });
    }
    const key = await fetch(id);
    if (key === undefined) return undefined;
    keys.set(id, key);
    for (const oldest of keys.keys()) if (keys.size > keysKept) keys.delete(oldest);
    return key;
  }

  return {
    async find(id, network) {
      const known = keys.get(id);
      if (known !== undefined) return known;
      const question = underWay.get(id) ?? ask(id, network).finally(() => underWay.delete(id));
      underWay.set(id, question);
      return question;
    },
  };
}
