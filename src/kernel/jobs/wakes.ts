import type { Queryable } from '../db/database.ts';
import { startListener } from '../db/listener.ts';
import type { Logger } from '../log/logger.ts';

/**
 * Wakes loops that rest because they have no work. The triggers of migration 019 notify in the commit of the work,
 * `createNotice` after it.
 */
export interface Wakes {
  /** Calls the listener when there is work, and whenever a notification may have been lost. Returns a function that ends it. */
  on(topic: string, listener: () => void): () => void;
  /** Calls the listener when the database was gone and is back. Returns a function that ends it. */
  onReturn(listener: () => void): () => void;
  /** How long a loop without work may rest. While notifications do not arrive, it keeps its pace. */
  restMs(paceMs: number): number;
}

interface RunningWakes extends Wakes {
  stop(): Promise<void>;
}

const channel = 'paywright_work';

/**
 * Looks for work that was never notified. A lost connection wakes every loop by itself, so this only bounds the harm of
 * a missing trigger.
 */
const fallbackMs = 30_000;

export async function startWakes({ url, logger }: { readonly url: string; readonly logger: Logger }) {
  const topics = new Map<string, Set<() => void>>();
  const onReturned = new Set<() => void>();
  const wakeAll = () => {
    for (const listeners of topics.values()) for (const listener of listeners) listener();
  };
  const listener = await startListener({
    url,
    logger,
    applicationName: 'paywright-wakes',
    channels: [channel],
    onNotification(_channel, topic) {
      for (const each of topics.get(topic) ?? []) each();
    },
    onDisconnect: wakeAll,
    onReconnect() {
      wakeAll();
      for (const each of onReturned) each();
    },
  });
  const wakes: RunningWakes = {
    on(topic, each) {
      const listeners = topics.get(topic) ?? new Set();
      topics.set(topic, listeners.add(each));
      return () => {
        listeners.delete(each);
        if (listeners.size === 0 && topics.get(topic) === listeners) topics.delete(topic);
      };
    },
    onReturn(each) {
      onReturned.add(each);
      return () => void onReturned.delete(each);
    },
    restMs: (paceMs) => (listener.connected ? Math.max(paceMs, fallbackMs) : paceMs),
    stop: () => listener.stop(),
  };
  return wakes;
}

const noticeEveryMs = 100;

/** Notifies of work whose own commits do not, because they would wait for each other: at once, and then ten times a second. */
export function createNotice(db: Queryable, topic: string) {
  let timer: NodeJS.Timeout | undefined;
  let isDue = false;
  function notify(): void {
    isDue = false;
    timer = setTimeout(() => {
      timer = undefined;
      if (isDue) notify();
    }, noticeEveryMs).unref();
    void send();
  }
  /** If it fails, the fallback of the loop finds the work. */
  async function send(): Promise<void> {
    await db.query('SELECT pg_notify($1, $2)', [channel, topic]).catch(() => {});
  }
  return {
    tell(): void {
      if (timer === undefined) notify();
      else isDue = true;
    },
    /** Sends what is still due. */
    async stop(): Promise<void> {
      clearTimeout(timer);
      if (isDue) await send();
    },
  };
}

/** Without notifications every loop keeps its pace. */
export const noWakes: Wakes = { on: () => () => {}, onReturn: () => () => {}, restMs: (paceMs) => paceMs };
