import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineJob, enqueue, handleJob } from '../../src/jobs/define-job.ts';
import { startWorker } from '../../src/jobs/worker.ts';
import { resumeAllSagas } from '../../src/sagas/resume-sagas.ts';
import { createSagaRunner } from '../../src/sagas/run-saga.ts';
import { withdrawalHandler } from '../../src/withdrawals/advance-withdrawal.ts';
import { withdrawalSaga } from '../../src/withdrawals/saga.ts';
import { handOf } from '../support/custody.ts';
import { useDepositWorld } from '../support/deposits.ts';

const world = useDepositWorld();
const waiting = Number(process.env.WAITING ?? 1000);

test('many that wait for liquidity leave the lane to those who bring it', async () => {
  const { database, chains, ledger, provider, log } = world;
  const { db } = database;
  handOf(world);
  await db.query(
    `WITH w AS (INSERT INTO withdrawals (id, chain, asset, address, gross, fee, net, status)
       SELECT 'wdr_' || i, 'MATIC', 'USDC', $1, 10, 1, 9, 'awaiting_liquidity' FROM generate_series(1, $2::int) i RETURNING id),
     s AS (INSERT INTO chain_steps (id, saga, saga_id, step, chain, state) SELECT gen_random_uuid(), 'withdrawal', id, 'pay', 'MATIC', 'waiting' FROM w RETURNING id),
     l AS (INSERT INTO chain_step_leaves (step_id, chain, asset, atomic, recipient) SELECT id, 'MATIC', 'USDC', 9, $1 FROM s)
     SELECT count(graphile_worker.add_job('saga_MATIC', json_build_object('saga', 'withdrawal', 'id', id), job_key => id)) FROM w`,
    [`0x${'1'.repeat(40)}`, waiting],
  );
  const screening = { check: async () => ({ clear: true }) as const };
  const handler = withdrawalHandler({ db, ledger, networks: chains.networks, provider, screening, logger: log.logger });
  const runner = createSagaRunner({ db, logger: log.logger, handlers: [handler] });
  const probe = defineJob({ name: 'probe', payload: z.object({ at: z.number() }), maxAttempts: 1, lane: 'MATIC' });
  const took: number[] = [];
  const worker = await startWorker({
    db,
    url: database.url,
    logger: log.logger,
    schedules: [],
    handlers: [...runner.jobs(['MATIC']), handleJob(probe, async ({ at }) => void took.push(Date.now() - at))],
  });
  await new Promise((resolve) => setTimeout(resolve, 15_000));
  for (let i = 0; i < 4; i++) {
    await enqueue(db, probe, { at: Date.now() });
    await new Promise((resolve) => setTimeout(resolve, 3_000));
  }
  await new Promise((resolve) => setTimeout(resolve, 15_000));
  await worker.stop();
  console.log('waiting', waiting, 'a job of the lane waited', took);
  expect(took).toHaveLength(4);
  expect(Math.max(...took)).toBeLessThan(1_000);
}, 120_000);
