import pg from 'pg';
import { within } from '../clock.ts';
import { WritableClient } from './writable-client.ts';

/**
 * A pool whose connections may break. It replaces such a connection by itself; without a listener on the pool and on
 * every client, the event would end the process. A closing pool does not wait for its connections, so there losing one
 * is no news.
 */
export function openPool(config: pg.PoolConfig, onLost: (err: Error) => void = () => {}): pg.Pool {
  const pool = new pg.Pool({ Client: WritableClient, ...config });
  pool.on('error', (err) => {
    if (!pool.ending) onLost(err);
  });
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

const longestEndMs = 2_000;

/** Waits for what uses a connection, but not for a host that no longer answers. */
export async function endPool(pool: pg.Pool): Promise<void> {
  await within(longestEndMs, pool.end(), () => {});
}
