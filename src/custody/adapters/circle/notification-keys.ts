import { type Clock, monotonicClock } from '../../../kernel/clock.ts';
import { createMemoryLimiter } from '../../../kernel/rate-limit/memory-limiter.ts';
import { ProviderError } from '../../wallets/provider.ts';
import type { NotificationKey } from './notification-key.ts';

export interface NotificationKeys {
  /**
   * Undefined when Circle has no such key. Refuses when the network that names it has named so many that we stopped asking on its
   * behalf for a while.
   */
  find(id: string, network: string): Promise<NotificationKey | undefined>;
}

export interface NotificationKeysOptions {
  readonly fetch: (id: string) => Promise<NotificationKey | undefined>;
  readonly clock?: Clock;
}

/** Circle has one key, and another one now and then. */
const keysKept = 16;

/**
 * Anybody can name a key that we do not know: asking Circle for each would use up the requests that we need ourselves. Each network
 * has its own few questions, so that invented keys from elsewhere do not keep the real one from being fetched.
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
      throw new ProviderError('Too many unknown keys were named.', { retryable: true, code: 'provider_busy' });
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
