import { type ChildProcess, spawn } from 'node:child_process';
import { Redis } from 'ioredis';
import { freePort } from './process.ts';
import { redisBinary } from './redis-binary.ts';

export interface TestRedis {
  readonly url: string;
  stop(): Promise<void>;
  /** Starts it again on the same port, empty. */
  restart(): Promise<void>;
}

/** A real server on a free port, which keeps nothing on disk. */
export async function startRedis(): Promise<TestRedis> {
  const port = await freePort();
  const url = `redis://127.0.0.1:${port}`;
  let child = await launch(port, url);
  return {
    url,
    stop: () => end(child),
    async restart() {
      child = await launch(port, url);
    },
  };
}

async function launch(port: number, url: string): Promise<ChildProcess> {
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
  const child = spawn(redisBinary ?? 'redis-server', args, { stdio: 'ignore' });
  const probe = new Redis(url, { retryStrategy: () => 50, maxRetriesPerRequest: 100 });
  probe.on('error', () => {});
  await probe.ping();
  probe.disconnect();
  return child;
}

function end(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    child.kill();
  });
}
