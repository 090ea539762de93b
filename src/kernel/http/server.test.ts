import { EventEmitter, once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { monotonicClock } from '../clock.ts';
import { createLogger } from '../log/logger.ts';
import { createMemoryLimiter } from '../rate-limit/memory-limiter.ts';
import { createSecrets } from '../secrets/secrets.ts';
import { closeServer } from './listen.ts';
import { createServer } from './server.ts';
import { toBlockList } from './trusted-proxies.ts';

test('a process that stops finishes open requests, and refuses later ones with a code', async () => {
  const events = new EventEmitter();
  const [begun, finish] = [once(events, 'begun'), once(events, 'finish')];
  const app = createServer({
    config: {
      rateLimits: { free: 0, pro: 0, anonymous: 0, network: 0, pages: 0, address: 0 },
      trustedProxies: toBlockList([]),
    },
    publicUrl: () => 'http://pay.example',
    routes: [],
    limiter: createMemoryLimiter(monotonicClock),
    secrets: createSecrets('s'.repeat(32)),
    logger: createLogger('silent'),
    authenticate: () => undefined,
    pages: (pages) => {
      pages.get('/slow', async () => {
        events.emit('begun');
        await finish;
        return 'finished';
      });
    },
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const socket = connect((app.server.address() as { port: number }).port, '127.0.0.1');
  const received = text(socket);
  const ask = (path: string) => socket.write(`GET ${path} HTTP/1.1\r\nHost: pay.example\r\n\r\n`);
  ask('/slow');
  await begun;
  const closed = closeServer(app);
  // The server reads on while it closes.
  ask('/later');
  await expect.poll(() => app.server.listening).toBe(false);
  events.emit('finish');
  await closed;
  const [, first, second] = (await received).split('HTTP/1.1 ');
  expect(first).toMatch(/^200 .*finished$/s);
  expect(second).toMatch(/^503 .*application\/problem\+json.*"code":"unavailable"/s);
  expect(second).toContain('This process is shutting down. Send the request again.');
});
