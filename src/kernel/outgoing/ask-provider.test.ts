import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, expect, it } from 'vitest';
import { askProvider } from './ask-provider.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

async function serve(answer: RequestListener): Promise<string> {
  server = createServer(answer);
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const limits = { timeoutMs: 10_000, mostBytes: 100 };

it('answers with status, headers and text, and follows no redirect', async () => {
  const url = await serve(({ url: path, method }, response) => {
    if (path === '/moved') response.writeHead(307, { location: '/' }).end();
    else response.writeHead(201, { 'retry-after': '7' }).end(`${method} ${path}`);
  });
  const reply = await askProvider(`${url}/a?b`, { ...limits, method: 'POST', body: 'x' });
  expect([reply.status, reply.header('retry-after'), await reply.text()]).toEqual([201, '7', 'POST /a?b']);
  const moved = await askProvider(`${url}/moved`, limits);
  expect(moved.status).toBe(307);
  moved.drop();
});

it('refuses a body that is too long', async () => {
  const url = await serve((_, response) => response.end('x'.repeat(101)));
  await expect(askProvider(url, limits).then((reply) => reply.text())).rejects.toThrow('answers without end');
});

it('waits for no silent provider', async () => {
  const url = await serve(() => {});
  await expect(askProvider(url, { ...limits, timeoutMs: 200 })).rejects.toThrow('does not answer');
});

it('gives up on an answer that stalls, also after garbage was collected', async () => {
  const url = await serve((_, response) => void response.write('{'));
  const read = async () => (await askProvider(url, { ...limits, timeoutMs: 500 })).text();
  const asked = Array.from({ length: 20 }, () => read());
  let over = false;
  const ended = Promise.allSettled(asked).finally(() => {
    over = true;
  });
  while (!over) {
    collectGarbage();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  for (const one of await ended)
    expect(String((one as PromiseRejectedResult).reason)).toMatch(/stopped|does not answer/);
});
