import { EventEmitter } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import type { WorkerEvents, WorkerPool } from 'graphile-worker';
import { expect, it, onTestFinished } from 'vitest';
import { catchLosses } from './run-lane.ts';

it('jobs that cannot be returned, and a shutdown that fails, do not end the process', async () => {
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
  const said: string[] = [];
  const works: Promise<unknown>[] = [];
  const localQueue = {
    background(work: Promise<unknown>) {
      works.push(work);
    },
  };
  const workerPool = {
    async gracefulShutdown(message: string) {
      messages.push(message);
      throw failed;
    },
  } as unknown as WorkerPool;
  const events: WorkerEvents = new EventEmitter();
  catchLosses(events, (message) => said.push(message));
  events.emit('pool:create', { workerPool } as never);

  events.emit('localQueue:init', { localQueue } as never);
  localQueue.background(Promise.reject(failed));
  void workerPool.gracefulShutdown('the database is gone');
  await turn();
  await turn();
  expect(messages).toEqual(['the database is gone']);
  expect(unhandled).toEqual([]);
  expect(await Promise.allSettled(works)).toMatchObject([{ status: 'fulfilled' }]);
  expect(said).toEqual(['Error: jobs cannot be returned']);
  await expect(workerPool.gracefulShutdown('stopped')).rejects.toBe(failed);
});
