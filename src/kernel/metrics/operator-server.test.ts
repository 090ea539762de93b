import { request } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import { startOperatorServer } from './operator-server.ts';

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function start(): Promise<number> {
  const server = await startOperatorServer({ host: '127.0.0.1', port: 0 }, async () => 'up 1\n');
  closers.push(() => server.stop());
  return server.port;
}

interface Asked {
  readonly path?: string;
  readonly method?: string;
  readonly host?: string;
}

function ask(port: number, { path = '/metrics', method = 'GET', host = 'localhost' }: Asked = {}): Promise<number> {
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, path, method, headers: { host } }, (reply) => {
      reply.resume();
      resolve(reply.statusCode ?? 0);
    })
      .on('error', reject)
      .end();
  });
}

test('there is /metrics, and nothing else', async () => {
  const port = await start();
  const reply = await fetch(`http://127.0.0.1:${port}/metrics`);
  expect(reply.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  expect(await reply.text()).toBe('up 1\n');
  expect(await ask(port, { method: 'HEAD' })).toBe(200);
  expect(await ask(port, { method: 'POST' })).toBe(405);
  for (const path of ['/', '/api/account', '/metrics/more']) expect(await ask(port, { path })).toBe(404);
});

test('a page that reaches it under a name of its own is refused', async () => {
  const port = await start();
  for (const host of ['evil.example', `evil.example:${port}`, '127.0.0.1.evil.example']) {
    expect(await ask(port, { host })).toBe(403);
  }
  for (const host of ['127.0.0.1', `localhost:${port}`, '[::1]']) expect(await ask(port, { host })).toBe(200);
});

test('a port that is taken is named by its setting', async () => {
  const port = await start();
  await expect(startOperatorServer({ host: '127.0.0.1', port }, async () => '')).rejects.toThrow(
    `Port ${port} on 127.0.0.1 is in use: stop the process that uses it, or set OPERATOR_PORT to another port.`,
  );
});
