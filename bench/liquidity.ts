import { features } from '../src/app/features.ts';
import { sagasOf } from '../src/app/listed-feature.ts';
import { createNetworks, type Network } from '../src/chains/network.ts';
import { matchArrival } from '../src/custody/steps/match-arrival.ts';
import { planStep } from '../src/custody/steps/plan-step.ts';
import { serveLiquidity } from '../src/custody/steps/serve-liquidity.ts';
import { type Database, openDatabase } from '../src/kernel/db/database.ts';
import { createLogger } from '../src/kernel/log/logger.ts';
import { resumeAllSagas } from '../src/kernel/sagas/feature.ts';
import { listOpenSagas } from '../src/kernel/sagas/list-sagas.ts';
import { amountOf } from '../src/money/amount.ts';
import type { ChainId } from '../src/money/catalogue.ts';
import { explain } from './explain.ts';
import { middle } from './measure.ts';

export interface LiquidityFigures {
  /** How many withdrawals wait at once and are served together. */
  readonly waiting: number;
  /** How many withdrawals the full table remembers. */
  readonly finished: number;
  /** Milliseconds to set the tokens aside for all who wait, the middle one of many. */
  readonly emptyMs: number;
  readonly fullMs: number;
  readonly fullToEmpty: number;
  /** Milliseconds to tell what has come to the treasury from what a step expects, beside as many that have come before. */
  readonly arrivalMs: number;
  /** By which indexes the full tables are read for the reservation. */
  readonly indexes: readonly string[];
  /** What is read from end to end for it, for an arrival, or for the list and the resumption of what is under way. */
  readonly scanned: readonly string[];
}

const quiet = createLogger('silent');
const waiting = 40;
const finished = 1_000_000;
const rounds = 60;
const treasuryId = 'wal_bench';
const treasuryAddress = `0x${'1'.repeat(40)}` as const;

/** The same withdrawals are served from an empty and from a full table, in turns. */
export async function measureLiquidity(
  createDatabase: (name: string) => Promise<string>,
  say: (line: string) => void,
): Promise<LiquidityFigures> {
  const empty = await openTreasury(await createDatabase('no_withdrawals'));
  const full = await openTreasury(await createDatabase('many_withdrawals'));
  try {
    say(`Finishing ${finished.toLocaleString('en')} withdrawals …`);
    await addFinished(full);
    say('Setting tokens aside …');
    const times = { empty: [] as number[], full: [] as number[] };
    for (let round = 0; round < rounds; round++) {
      times.empty.push(await timeRound(empty));
      times.full.push(await timeRound(full));
    }
    const arrivalMs = middle(await repeat(rounds, () => time(() => match(full))));
    await queueUp(full);
    const { indexes, scanned } = await explain(full, serve);
    const others = await explain(full, async (db) => {
      await match(db);
      await listOpenSagas(db, declared);
      await resumeAllSagas(db, declared);
    });
    const emptyMs = middle(times.empty);
    const fullMs = middle(times.full);
    return {
      waiting,
      finished,
      emptyMs,
      fullMs,
      fullToEmpty: fullMs / emptyMs,
      arrivalMs,
      indexes: indexes.filter(grows),
      scanned: [...scanned, ...others.scanned].filter(grows),
    };
  } finally {
    await empty.close();
    await full.close();
  }
}

const declared = sagasOf(features);

/** Whether a table, or the table of an index, becomes larger with everything that was ever done. */
const grows = (name: string) => /^(chain_step|withdrawals|sweeps|house_moves)/.test(name);

async function openTreasury(url: string): Promise<Database> {
  const db = openDatabase({ url, poolSize: 3, logger: quiet, limits: { statementMs: 0, lockMs: 0 } });
  await db.query(
    `INSERT INTO house_wallets (id, purpose, chain, provider, provider_ref, address)
     VALUES ($1, 'treasury', 'MATIC', 'keys', '1/0', $2)`,
    [treasuryId, treasuryAddress],
  );
  return db;
}

/** One finished withdrawal for each second of the last days. They come in without the checks that each would cost. */
async function addFinished(db: Database): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.query('SET LOCAL session_replication_role = replica');
    await tx.query(
      `INSERT INTO chain_steps (id, saga, saga_id, step, chain, wallet_id, state, asked_at, provider_ref, hash,
           block_number, gas_cost, created_at, settled_at)
       SELECT gen_random_uuid(), 'withdrawal', 'wdr_' || i, 'pay', 'MATIC', $2, 'confirmed', at, 'ref_' || i, '0x' || i,
           i, 1, at, at
         FROM generate_series(1, $1::int) i, LATERAL (SELECT now() - make_interval(secs => $1 - i) AS at) t`,
      [finished, treasuryId],
    );
    await tx.query(
      `INSERT INTO chain_step_leaves (step_id, chain, wallet_id, asset, atomic, waiting_since, settled_at)
       SELECT id, chain, wallet_id, 'USDC', 1000000, created_at, settled_at FROM chain_steps`,
    );
    await tx.query(
      `INSERT INTO chain_step_arrivals (step_id, chain, address, asset, atomic, account_id, known_by, arrived_at)
       SELECT id, chain, $1, 'USDC', 1000000, 1, 'transaction', settled_at FROM chain_steps`,
      [treasuryAddress],
    );
    await tx.query(
      `INSERT INTO withdrawals (id, chain, asset, address, gross, fee, net, status, updated_at, finished_at)
       SELECT saga_id, chain, 'USDC', $1, 1000000, 1, 999999, 'complete', settled_at, settled_at FROM chain_steps`,
      [treasuryAddress],
    );
  });
  for (const table of ['chain_steps', 'chain_step_leaves', 'chain_step_arrivals', 'withdrawals']) {
    await db.query(`VACUUM ANALYZE ${table}`);
  }
}

async function timeRound(db: Database): Promise<number> {
  await queueUp(db);
  const tookMs = await time(() => serve(db));
  // What was never asked for may be dropped, so that the next round finds the tables as this one did.
  const { rowCount } = await db.query(
    "DELETE FROM chain_steps WHERE chain = 'MATIC' AND settled_at IS NULL AND state = 'ready'",
  );
  if (rowCount !== waiting) throw new Error(`${rowCount} of ${waiting} withdrawals were served`);
  await db.query('DELETE FROM graphile_worker._private_jobs');
  return tookMs;
}

async function time(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

async function repeat(times: number, measure: () => Promise<number>): Promise<number[]> {
  const measured: number[] = [];
  while (measured.length < times) measured.push(await measure());
  return measured;
}

async function queueUp(db: Database): Promise<void> {
  await db.transaction(async (tx) => {
    for (let place = 0; place < waiting; place++) {
      await planStep(tx, {
        saga: 'withdrawal',
        sagaId: `wdr_waiting_${place}`,
        step: 'pay',
        chain: 'MATIC',
        leaves: [{ amount: amountOf('USDC', 1_000_000n) }],
      });
    }
  });
}

const serve = (db: Database) =>
  serveLiquidity({ db, networks: richNetworks, logger: quiet }, { chain: 'MATIC', asset: 'USDC' });

const match = (db: Database) =>
  db.transaction((tx) =>
    matchArrival(tx, {
      chain: 'MATIC',
      txHash: '0xbe',
      address: treasuryAddress,
      asset: 'USDC',
      atomic: 1_000_000n,
      proofs: [],
      seenAt: new Date(),
    }),
  );

/** A chain that answers at once, so that nothing but the database is measured. */
const richNetworks: ReadonlyMap<ChainId, Network> = new Map(
  Array.from(
    createNetworks(new Map([['MATIC', { urls: ['http://127.0.0.1:1'], confirmations: 1, pollMs: 250 }]])),
    ([id, network]) => [
      id,
      { ...network, client: { ...network.client, readContract: async () => 1_000_000_000_000n } as Network['client'] },
    ],
  ),
);
