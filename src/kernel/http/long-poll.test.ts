import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import type { Wakes } from '../jobs/wakes.ts';
import { whenHungUp } from './client-gone.ts';
import { createLongPoll } from './long-poll.ts';

const silent = { on: () => () => {} } as unknown as Wakes;
const never = new AbortController().signal;

test('a client that hangs up no longer waits, and gives its place back', async () => {
  const wait = createLongPoll(silent, never);
  const gone = new AbortController();
  let looks = 0;
  const begin = (signal: AbortSignal) =>
    wait({ topic: 'x', accountId: 1n, ms: 60_000, gone: signal }, async () => {
      looks++;
      return false;
    });
  const ten = Array.from({ length: 10 }, () => begin(gone.signal));
  await begin(never);
  expect(looks).toBe(10);
  gone.abort();
  await Promise.all(ten);
  await begin(gone.signal);
  expect(looks).toBe(11);
});

test('hanging up is told once for all requests of a connection, also afterwards', async () => {
  const server = createServer();
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const client = connect((server.address() as { port: number }).port, '127.0.0.1');
  const [socket] = (await once(server, 'connection')) as [Socket];
  const listeners = socket.listenerCount('close');
  const gone = whenHungUp(socket);
  expect(whenHungUp(socket)).toBe(gone);
  expect(socket.listenerCount('close')).toBe(listeners + 1);
  expect(gone.aborted).toBe(false);
  socket.resume();
  client.destroy();
  await once(gone, 'abort');
  expect(whenHungUp(socket).aborted).toBe(true);
});
