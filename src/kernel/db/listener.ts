import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Logger } from '../log/logger.ts';
import { newClient } from './connection-settings.ts';
import { endClient } from './end.ts';

const checkEveryMs = 5_000;
const checkTimeoutMs = 5_000;
const retryMs = 500;

export interface Listener {
  /** Whether notifications arrive now. While false, cached data may be stale. */
  readonly connected: boolean;
  stop(): Promise<void>;
}

export interface ListenerOptions {
  readonly url: string;
  readonly logger: Logger;
  /** Of the connection, in pg_stat_activity. */
  readonly applicationName: string;
  readonly channels: readonly string[];
  readonly onNotification: (channel: string, payload: string) => void;
  readonly onDisconnect: () => void;
  /** Notifications arrive again. Those in between are lost. */
  readonly onReconnect?: () => void;
}

/** Holds a dedicated connection for LISTEN, detects when it is dead, and reconnects. */
export async function startListener(options: ListenerOptions): Promise<Listener> {
  let client: pg.Client | undefined;
  let stopped = false;

  function drop(dead: pg.Client): void {
    if (client !== dead) return;
    client = undefined;
    options.onDisconnect();
    dead.end().catch(() => {});
    if (!stopped) void reconnect();
  }

  async function connect(): Promise<void> {
    const { url, applicationName } = options;
    const fresh = newClient({ url, applicationName }, { query_timeout: checkTimeoutMs });
    fresh.on('error', () => drop(fresh));
    fresh.on('end', () => drop(fresh));
    fresh.on('notification', ({ channel, payload }) => options.onNotification(channel, payload ?? ''));
    try {
      await fresh.connect();
      // A standby refuses it.
      for (const channel of options.channels) await fresh.query(`LISTEN ${channel}`);
      if (stopped) throw new Error('the listener was stopped');
    } catch (error) {
      fresh.end().catch(() => {});
      throw error;
    }
    client = fresh;
  }

  async function reconnect(): Promise<void> {
    options.logger.warn('lost the notification connection; reconnecting');
    while (!stopped && client === undefined) {
      await connect().then(options.onReconnect, () => sleep(retryMs));
    }
  }

  // A network that drops packets closes no connection; only a query reveals that the peer is gone.
  const heartbeat = setInterval(() => {
    const asked = client;
    asked?.query('SELECT').catch(() => drop(asked));
  }, checkEveryMs).unref();

  await connect();
  return {
    get connected() {
      return client !== undefined;
    },
    async stop() {
      stopped = true;
      clearInterval(heartbeat);
      const open = client;
      client = undefined;
      if (open !== undefined) await endClient(open);
    },
  };
}
