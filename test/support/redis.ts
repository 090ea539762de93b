import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from './process.ts';
import { redisBinary } from './redis-binary.ts';
import { until } from './until.ts';

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

async function launch(port: number, url: string, more: readonly string[] = []): Promise<ChildProcess> {
  const args = [
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--save',
    '',
    '--appendonly',
    'no',
    '--dir',
    tmpdir(),
    ...more,
  ];
  const child = spawn(redisBinary ?? 'redis-server', args, { stdio: 'ignore' });
  const probe = new Redis(url, { retryStrategy: () => 50, maxRetriesPerRequest: 100 });
  probe.on('error', () => {});
  await probe.ping();
  probe.disconnect();
  return child;
}

/** A Redis, a replica of it, and a Sentinel that knows them as `main`. */
export async function startSentinel() {
  const [first, second, port] = [await freePort(), await freePort(), await freePort()];
  const urlAt = (at: number) => `redis://127.0.0.1:${at}`;
  const folder = mkdtempSync(join(tmpdir(), 'sentinel-'));
  const config = join(folder, 'sentinel.conf');
  writeFileSync(config, `sentinel monitor main 127.0.0.1 ${first} 1\nsentinel down-after-milliseconds main 500\n`);
  const children = [
    await launch(first, urlAt(first), ['--dir', folder]),
    await launch(second, urlAt(second), ['--dir', folder, '--replicaof', '127.0.0.1', String(first)]),
    spawn(redisBinary ?? 'redis-server', [config, '--sentinel', '--port', String(port), '--bind', '127.0.0.1'], {
      stdio: 'ignore',
    }),
  ];
  const sentinel = new Redis(urlAt(port), { retryStrategy: () => 50, maxRetriesPerRequest: 100 });
  sentinel.on('error', () => {});
  const ask = (...words: readonly [string, ...string[]]) => sentinel.call('SENTINEL', ...words) as Promise<unknown>;
  const replica = new Redis(urlAt(second));
  await until('the replica', async () => (await replica.info('replication')).includes('master_link_status:up'));
  await until('the Sentinel to know both', async () =>
    JSON.stringify(await ask('replicas', 'main')).includes(`${second}`),
  );
  const takenOver = async () => {
    await until('the new one', async () => String(await ask('get-master-addr-by-name', 'main')).includes(`${second}`));
    await until('the role', async () => (await replica.info('replication')).includes('role:master'));
  };
  return {
    url: `redis+sentinel://127.0.0.1:${port},127.0.0.1:1/main`,
    /** Ends the first Redis once the other one has taken over. */
    async failover() {
      await until('a failover', () =>
        ask('failover', 'main').then(
          () => true,
          () => false,
        ),
      );
      await takenOver();
      await end(children[0] as ChildProcess);
    },
    /** Stops the first Redis without ending it or its connections. The other one takes over. */
    async standStill() {
      children[0]?.kill('SIGSTOP');
      await takenOver();
    },
    async stop() {
      sentinel.disconnect();
      replica.disconnect();
      await Promise.all(children.map(end));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  // A stopped process hears no other signal.
  child.kill('SIGKILL');
  await ended;
}
