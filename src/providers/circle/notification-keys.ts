import { type Clock, monotonicClock } from '../../clock.ts';
import { ProviderError } from '../../wallets/provider.ts';
import type { NotificationKey } from './notification-key.ts';

export interface NotificationKeys {
  /** Undefined when Circle has no such key. Refuses when strangers have named so many that we stopped asking for a while. */
  find(id: string): Promise<NotificationKey | undefined>;
}

export interface NotificationKeysOptions {
  readonly fetch: (id: string) => Promise<NotificationKey | undefined>;
  readonly clock?: Clock;
}

/** Circle has one key, and another one now and then. */
const keysKept = 16;

/** Anybody can name a key that we do not know: asking Circle for each would use up the requests that we need ourselves. */
const questionsPerMinute = 6;

/** The keys that Circle signs notifications with. A key never changes under its id. */
export function createNotificationKeys({ fetch, clock = monotonicClock }: NotificationKeysOptions): NotificationKeys {
  const keys = new Map<string, NotificationKey>();
  const underWay = new Map<string, Promise<NotificationKey | undefined>>();
  let asked: number[] = [];

  async function ask(id: string): Promise<NotificationKey | undefined> {
    const now = clock.now();
    asked = asked.filter((at) => now - at < 60_000);
    if (asked.length >= questionsPerMinute) {
      throw new ProviderError('Too many unknown keys were named.', { retryable: true, code: 'provider_busy' });
    }
    asked.push(now);
    const key = await fetch(id);
    if (key === undefined) return undefined;
    keys.set(id, key);
    for (const oldest of keys.keys()) if (keys.size > keysKept) keys.delete(oldest);
    return key;
  }

  return {
    async find(id) {
      const known = keys.get(id);
      if (known !== undefined) return known;
      const question = underWay.get(id) ?? ask(id).finally(() => underWay.delete(id));
      underWay.set(id, question);
      return question;
    },
  };
}
