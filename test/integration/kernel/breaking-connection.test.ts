import type pg from 'pg';
import { expect, it } from 'vitest';
import { connectionSettings } from '../../../src/kernel/db/connection-settings.ts';
import { openPool } from '../../../src/kernel/db/pool.ts';
import { listenTcp } from '../../support/listening.ts';

/** A message of PostgreSQL's protocol. */
function message(type: string, body: string): Buffer {
  const bytes = Buffer.from(body, 'latin1');
  const head = Buffer.alloc(5, type);
  head.writeInt32BE(bytes.length + 4, 1);
  return Buffer.concat([head, bytes]);
}

const ready = [message('R', '\0\0\0\0'), message('Z', 'I')];
const shutdown = message('E', 'SFATAL\0C57P01\0Mterminating connection due to administrator command\0\0');

it.each([1, 2])(
  'a server that is ready and shuts down at once ends a query, and not the process, of %i hosts',
  async (hosts) => {
    const server = await listenTcp((socket) => {
      socket.once('data', () => socket.end(Buffer.concat([...ready, shutdown])));
    });
    const others = hosts === 1 ? '' : '?other_hosts=127.0.0.1:1';
    const url = `postgres://ada:x@127.0.0.1:${server.port}/db${others}`;
    const pool: pg.Pool = openPool({ ...connectionSettings({ url, applicationName: 'test' }), max: 4 });
    const asked = await Promise.allSettled(Array.from({ length: 20 }, async () => pool.query('SELECT')));
    expect(asked.every(({ status }) => status === 'rejected')).toBe(true);
    await pool.end();
    await server.close();
  },
);
