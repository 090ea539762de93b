import { EventEmitter } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import type { WorkerEvents, WorkerPool } from 'graphile-worker';
import { expect, it, onTestFinished } from 'vitest';
import { catchShutdowns } from './run-lane.ts';

it('a shutdown that fails, and that nobody waits for, does not end the process', async () => {
  const unhandled: unknown[] = [];
  const others = process.listeners('unhandledRejection');
  process.removeAllListeners('unhandledRejection');
  process.on('unhandledRejection', (reason) => unhandled.push(reason));
  onTestFinished(() => {
    process.removeAllListeners('unhandledRejection');
    for (const listener of others) process.on('unhandledRejection', listener);
  });

  const failed = new Error('jobs cannot be returned');
  const messages: unknown[] = [];
  const workerPool = {
    async gracefulShutdown(message: string) {
      messages.push(message);
      throw failed;
    },
  } as unknown as WorkerPool;
  const events: WorkerEvents = new EventEmitter();
  catchShutdowns(events);
  events.emit('pool:create', { workerPool } as never);

  void workerPool.gracefulShutdown('the database is gone');
  await turn();
  await turn();
  expect(messages).toEqual(['the database is gone']);
  expect(unhandled).toEqual([]);
  await expect(workerPool.gracefulShutdown('stopped')).rejects.toBe(failed);
});
