import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Logger } from '../log/logger.ts';
import { connectionSettings } from './connection-settings.ts';

/** How a listening connection is recognised in pg_stat_activity. */
export const listenerName = 'paywright-listener';

const checkEveryMs = 5_000;
const checkTimeoutMs = 5_000;
const retryMs = 500;

export interface Listener {
  /** Whether notifications reach us at this moment. While they do not, nothing may be taken as unchanged. */
  readonly connected: boolean;
  stop(): Promise<void>;
}

export interface ListenerOptions {
  readonly url: string;
  readonly logger: Logger;
  readonly channels: readonly string[];
  readonly onNotification: (channel: string, payload: string) => void;
  readonly onDisconnect: () => void;
}

/** A connection of its own for LISTEN, which notices when it has died and connects again. */
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
    const fresh = new pg.Client({
      ...connectionSettings({ url: options.url, applicationName: listenerName }),
      query_timeout: checkTimeoutMs,
    });
    fresh.on('error', () => drop(fresh));
    fresh.on('end', () => drop(fresh));
    fresh.on('notification', ({ channel, payload }) => options.onNotification(channel, payload ?? ''));
    await fresh.connect();
    for (const channel of options.channels) await fresh.query(`LISTEN ${channel}`);
    client = fresh;
  }

  async function reconnect(): Promise<void> {
    options.logger.warn('the connection for notifications was lost; connecting again');
    while (!stopped && client === undefined) {
      await connect().catch(() => sleep(retryMs));
    }
  }

  // A network that swallows packets closes no connection: only asking shows that nobody is there.
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
      await open?.end().catch(() => {});
    },
  };
}
