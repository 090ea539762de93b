import pg from 'pg';
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
