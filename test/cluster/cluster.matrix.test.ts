// @module-tag matrix
import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { privateKeyToAddress } from 'viem/accounts';
import { expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../src/kernel/db/database.ts';
import { readDatabaseUrl } from '../../src/kernel/db/writable-client.ts';
import { createLogger } from '../../src/kernel/log/logger.ts';
import { startReceiver } from '../support/receiver.ts';
import { until } from '../support/until.ts';
import { type Fault, type FaultName, faults, roll, type World } from './faults.ts';
import { makeNextRelease, startInstances } from './instances.ts';
import { startLoad, startPulse } from './load.ts';
import type { Machine } from './machines.ts';
import { type PostgresCluster, startPostgresCluster } from './postgres-cluster.ts';
import { type Probe, startProbe } from './probe.ts';
import { awaitEnd, findDifferences, findFailures, findProblems, findSplits, findUntold } from './proof.ts';
import { startRedisCluster } from './redis-cluster.ts';
import { printRounds, type Round } from './report.ts';

/** `npm run cluster` sets it, and wants the figures. */
const rounds = Number(process.env['CLUSTER_ROUNDS'] ?? 1);
const isMeasured = process.env['CLUSTER_ROUNDS'] !== undefined;
const outside = privateKeyToAddress(`0x${'7'.repeat(64)}`);
const receiver = await startReceiver();

const say = (text: string) => {
  if (isMeasured) process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`);
};

async function startWorld(): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'cluster-'));
  chmodSync(folder, 0o777);
  const postgres = await startPostgresCluster(folder);
  onTestFinished(() => postgres.end());
  say('PostgreSQL runs on three machines');
  const redis = await startRedisCluster(folder);
  const env = {
    DATABASE_URL: postgres.url,
    DATABASE_POOL_SIZE: '8',
    REDIS_URL: redis.url,
    ALLOW_PRIVATE_HOSTS: receiver.host,
    RATE_LIMIT_FREE_PER_MINUTE: '1000000',
    RATE_LIMIT_ANONYMOUS_PER_MINUTE: '1000000',
    WITHDRAWAL_DAILY_LIMIT_FREE: '0',
  };
  const instances = await startInstances({ folder, env, count: 3 });
  await instances.awaitSharedLimits();
  say('three instances run and share their limits');
  return { postgres, redis, instances, next: makeNextRelease(folder) };
}

test('three instances on a cluster lose machines, and nothing that was acknowledged', {
  tags: ['cluster'],
  timeout: 3 * 3_600_000,
}, async () => {
  const world = await startWorld();
  const { postgres, instances } = world;
  const urls = instances.all.map(({ url }) => url);
  const db = openDatabase({
    url: readDatabaseUrl(postgres.url) ?? '',
    poolSize: 4,
    logger: createLogger('silent'),
    limits: { statementMs: 120_000 },
  });
  onTestFinished(() => db.close());
  const probe = await startProbe(postgres.machines, await postgres.awaitLeader());
  await fillShelf(instances.url);
  const load = await startLoad({ url: instances.url, instances: urls, workers: 12, outside, receiver: receiver.url });
  const pulse = await startPulse(instances.url, urls);
  /** Waits until the balancer and each instance have acknowledged a payment, and says when the last of them had. */
  const awaitAll = async (since: number) =>
    until(
      'every instance',
      async () => {
        for (const { crashes } of instances.all) expect(crashes).toEqual([]);
        const firsts = [...pulse.times.values()].map((times) => times.find((at) => at > since));
        return firsts.every((at) => at !== undefined) && Math.max(...(firsts as number[]));
      },
      180_000,
    );
  await awaitAll(performance.now());

  const measured: Round[] = [];
  for (let round = 0; round < rounds; round++) {
    for (const [name, fault] of Object.entries(faults) as [FaultName, Fault][]) {
      const since = performance.now();
      const lost = load.lost;
      const { old, mend } = await fault(world, round);
      const ledAt = old && (await awaitSuccessor(postgres, probe, old, since));
      const backAt = ledAt === undefined ? undefined : await awaitAll(ledAt);
      if (old !== undefined) await postgres.awaitLeader(old);
      await mend();
      await postgres.awaitHealthy();
      await awaitAll(performance.now());
      const paid = pulse.times.get(instances.url) ?? [];
      // From the last one before the loss.
      const times = paid.slice(
        Math.max(
          0,
          paid.findLastIndex((at) => at <= since),
        ),
      );
      const silentMs = Math.max(...times.slice(1).map((at, index) => at - (times[index] as number)));
      measured.push({
        fault: name,
        silentMs,
        ...(ledAt !== undefined && { patroniMs: ledAt - since }),
        ...(ledAt !== undefined && backAt !== undefined && { backMs: backAt - ledAt }),
        lost: load.lost - lost,
      });
      say(`${round + 1} of ${rounds}: ${JSON.stringify(measured.at(-1))}`);
      refuseWrong(world, [...load.wrong, ...pulse.wrong]);
    }
  }

  // A roll loses nothing that one retry would not save.
  const before = load.answered.length;
  const endings = await roll(world);
  await awaitAll(performance.now());
  // The stand-ins of chains, shops and sellers end with an instance, and need a while to begin in another one.
  const rolled = load.answered
    .slice(before)
    .filter(({ path }) => /transfer$|invoices|keys/.test(path) && !path.includes('chain'));
  say(
    `rolled: ${rolled.length} answers, ${rolled.filter(({ attempts }) => attempts > 1).length} of them at the second attempt, and the instances ended with ${endings.join(', ')}`,
  );
  expect(rolled.length).toBeGreaterThan(0);
  expect(Math.max(...rolled.map(({ attempts }) => attempts))).toBeLessThanOrEqual(2);

  await load.stop();
  await pulse.stop();
  await probe.stop();
  const acknowledged = [...load.acknowledged, ...pulse.acknowledged];
  const features = [...new Set(acknowledged.map(({ feature }) => feature))];
  const counts = features.map((one) => `${acknowledged.filter(({ feature }) => feature === one).length} ${one}s`);
  say(`acknowledged: ${counts.join(', ')}`);
  refuseWrong(world, [...load.wrong, ...pulse.wrong]);
  for (const [one, times] of load.refused) expect(times, `revoked keys that ${one} refused`).toBeGreaterThan(0);
  await awaitEnd(db);
  say('everything under way has ended');
  expect(await findDifferences(db, acknowledged)).toEqual([]);
  expect(await findFailures(db)).toEqual([]);
  expect(await findSplits(db, probe)).toEqual([]);
  expect(new Set(probe.acknowledged.map(({ timeline }) => timeline)).size, 'primaries').toBeGreaterThan(3 * rounds);
  expect(await findProblems(db, { url: instances.url, outside, acknowledged })).toEqual([]);
  const { subscribers } = load;
  expect(await findUntold(db, { arrived: receiver.arrived, acknowledged, subscribers })).toEqual([]);
  for (const { crashes } of instances.all) expect(crashes).toEqual([]);
  expect(endings, 'how the instances of the roll ended').toEqual([0, 0, 0]);
  if (!isMeasured) return;
  printRounds(measured, acknowledged.length);
  for (const { fault, backMs, silentMs } of measured) expect(backMs ?? silentMs, fault).toBeLessThan(5_000);
});

/** When another machine than that one has acknowledged a write. */
const awaitSuccessor = ({ awaitState }: PostgresCluster, { acknowledged }: Probe, { name }: Machine, since: number) =>
  awaitState(
    'another primary',
    async () => acknowledged.find(({ machine, begunAt }) => machine !== name && begunAt > since)?.acknowledgedAt,
  );

/** With what the instances have logged of it. */
function refuseWrong({ instances }: World, wrong: readonly string[]): void {
  const some = wrong.slice(0, 5).flatMap((line) => {
    const [requestId = 'none'] = /req_\w+/.exec(line) ?? [];
    return [line, ...instances.all.flatMap((one) => one.logged(requestId))];
  });
  expect(some).toEqual([]);
}

/** Otherwise the demo shop would be sold out. */
async function fillShelf(url: string): Promise<void> {
  const sandbox = (await (await fetch(`${url}/api/sandbox`)).json()) as { demoShop: { url: string } };
  await fetch(`${sandbox.demoShop.url}/switches`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ products: { 'stoneware-mug-sea': { stock: 100_000 } } }),
  });
}
