import type { Ending, Instance, Instances, Release } from './instances.ts';
import type { Machine } from './machines.ts';
import type { PostgresCluster } from './postgres-cluster.ts';
import type { RedisCluster } from './redis-cluster.ts';

export interface World {
  readonly postgres: PostgresCluster;
  readonly redis: RedisCluster;
  readonly instances: Instances;
  readonly next: Release;
}

interface Harm {
  /** The machine that no longer leads, if there is one. */
  readonly old?: Machine;
  mend(): Promise<void>;
}

/** What happens to the cluster. */
export type Fault = (world: World, round: number) => Promise<Harm>;

const losesPrimary =
  (harm: 'kill' | 'stop' | 'cut', mend: 'start' | 'resume' | 'heal'): Fault =>
  async ({ postgres }) => {
    const old = await postgres.awaitLeader();
    await old[harm]();
    return { old, mend: async () => old[mend]() };
  };

const any = (all: readonly Instance[], round: number) => all[round % all.length] as Instance;

export const faults = {
  /** Its power fails. */
  'primary killed': losesPrimary('kill', 'start'),
  /** It stands still and wakes up later, when another one has its place. */
  'primary stopped': losesPrimary('stop', 'resume'),
  /** It runs, and does not know whether it still leads. */
  'primary cut off from etcd': losesPrimary('cut', 'heal'),
  'instance killed': async ({ instances }, round) => {
    const instance = any(instances.all, round);
    await instance.kill();
    return { mend: () => instance.start() };
  },
  'Redis killed': async ({ redis, instances }) => {
    const mend = await redis.killPrimary();
    return {
      async mend() {
        await mend();
        await instances.awaitSharedLimits();
      },
    };
  },
} as const satisfies Record<string, Fault>;

export type FaultName = keyof typeof faults;

/** A migration is applied, then each instance gives way to one of the next release. Answers how each of them ended. */
export async function roll({ instances, next }: World): Promise<readonly Ending[]> {
  await instances.run(['migrate'], next);
  const endings: Ending[] = [];
  for (const instance of instances.all) endings.push(await instance.restart(next));
  return endings;
}
