import type { ChildProcess } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from '../support/process.ts';
import { until } from '../support/until.ts';
import { endProgram, startProgram } from './child.ts';

export interface RedisCluster {
  /** With all Sentinels, as an operator writes it. */
  readonly url: string;
  /** Kills the primary, and returns what starts it again as a replica of the next one. */
  killPrimary(): Promise<() => Promise<void>>;
}

/** Two Redis servers and three Sentinels that watch over them. */
export async function startRedisCluster(folder: string): Promise<RedisCluster> {
  const ports = [await freePort(), await freePort()] as const;
  const sentinels = [await freePort(), await freePort(), await freePort()];
  const children = new Map<number, ChildProcess>();
  const log = join(folder, 'redis.log');

  function start(port: number, replicaOf?: number): void {
    const args = `--port ${port} --bind 127.0.0.1 --save  --appendonly no --dir ${folder}`.split(' ');
    const more = replicaOf === undefined ? [] : ['--replicaof', '127.0.0.1', String(replicaOf)];
    children.set(port, startProgram(['redis-server', ...args, ...more], { log }));
  }

  start(ports[0]);
  start(ports[1], ports[0]);
  for (const port of sentinels) {
    const home = join(folder, `sentinel-${port}`);
    mkdirSync(home);
    const config = join(home, 'sentinel.conf');
    const lines = [
      `sentinel monitor main 127.0.0.1 ${ports[0]} 2`,
      'sentinel down-after-milliseconds main 1000',
      'sentinel failover-timeout main 5000',
    ];
    writeFileSync(config, `${lines.join('\n')}\n`);
    const args = ['--sentinel', '--port', String(port), '--bind', '127.0.0.1', '--dir', home];
    startProgram(['redis-server', config, ...args], { log });
  }

  async function primary(): Promise<number> {
    const [port = 0] = sentinels;
    const answer = await ask(port, (redis) => redis.call('SENTINEL', 'get-master-addr-by-name', 'main'));
    return Number((answer as readonly string[])[1]);
  }
  const follows = async (port: number) =>
    (await ask(port, (redis) => redis.info('replication'))).includes('master_link_status:up');
  await until('the replica of Redis', () => follows(ports[1]).catch(() => false));

  return {
    url: `redis+sentinel://${sentinels.map((port) => `127.0.0.1:${port}`).join(',')}/main`,
    async killPrimary() {
      const old = await until('the Sentinels', () => primary().catch(() => undefined));
      await endProgram(children.get(old) as ChildProcess, 'SIGKILL');
      const next = await until('another Redis', async () => {
        const now = await primary().catch(() => old);
        return now !== old && now;
      });
      return async () => {
        start(old, next);
        await until('the replica of Redis', () => follows(old).catch(() => false));
      };
    },
  };
}

async function ask<Answer>(port: number, question: (redis: Redis) => Promise<Answer>): Promise<Answer> {
  const redis = new Redis(port, '127.0.0.1', { retryStrategy: null, maxRetriesPerRequest: 0, connectTimeout: 2_000 });
  redis.on('error', () => {});
  try {
    return await question(redis);
  } finally {
    redis.disconnect();
  }
}
