import { startListener } from '../db/listener.ts';
import type { Logger } from '../log/logger.ts';

/** Wakes loops that rest because they have no work. The triggers of migration 019 notify in the commit of the work. */
export interface Wakes {
  /** Calls the listener when there is work, and whenever a notification may have been lost. Returns a function that ends it. */
  on(topic: string, listener: () => void): () => void;
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
    onReconnect: wakeAll,
  });
  const wakes: RunningWakes = {
    on(topic, each) {
      const listeners = topics.get(topic) ?? new Set();
      topics.set(topic, listeners.add(each));
      return () => void listeners.delete(each);
    },
    restMs: (paceMs) => (listener.connected ? Math.max(paceMs, fallbackMs) : paceMs),
    stop: () => listener.stop(),
  };
  return wakes;
}

/** Without notifications every loop keeps its pace. */
export const noWakes: Wakes = { on: () => () => {}, restMs: (paceMs) => paceMs };
