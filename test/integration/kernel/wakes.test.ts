import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { openPool } from '../../../src/kernel/db/pool.ts';
import { defineJob, enqueue, handleJob } from '../../../src/kernel/jobs/define-job.ts';
import { startJobAlarm } from '../../../src/kernel/jobs/job-alarm.ts';
import { startWakes } from '../../../src/kernel/jobs/wakes.ts';
import { startWorker } from '../../../src/kernel/jobs/worker.ts';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { useDatabase } from '../../support/database.ts';
import { createOwners } from '../../support/ledger.ts';

const { db, url } = useDatabase();
const logger = createLogger('silent');

async function start() {
  const wakes = await startWakes({ url, logger });
  onTestFinished(() => wakes.stop());
  return wakes;
}

/** Resolves with what its function is first called with. */
function nextCall<Given = void>() {
  let call: (given: Given) => void = () => {};
  const promise = new Promise<Given>((resolve) => {
    call = resolve;
  });
  return { promise, call: (given: Given) => call(given) };
}

/** An account with a key, a house wallet, and a step that expects an arrival by its own transaction. */
async function fill(): Promise<void> {
  const [owner] = await createOwners(db, 1);
  const statements = [
    `INSERT INTO house_wallets (id, purpose, chain, provider, provider_ref, address)
     VALUES ('hw_1', 'treasury', 'BASE', 'keys', '1', '${address}')`,
    `INSERT INTO chain_steps (id, saga, saga_id, step, chain, wallet_id, state)
     VALUES ('${step}', 'swap', 'swp_1', 'pay', 'BASE', 'hw_1', 'ready')`,
    `INSERT INTO chain_step_arrivals (step_id, chain, address, asset, account_id, known_by)
     VALUES ('${step}', 'BASE', '${address}', 'USDC', 1, 'transaction')`,
    `INSERT INTO key_transactions (id, chain, sender, provider_ref, nonce, recipient, data)
     SELECT id, 'BASE', '${address}', '1', nonce, '0x2', ''
       FROM (VALUES ('${step}'::uuid, 1), ('${lone}', 2)) t (id, nonce)`,
    `INSERT INTO webhooks (id, account_id, key_id, url, events)
     VALUES ('wh_1', ${owner?.id}, '${owner?.keyId}', 'https://example.com', '{payment.sent}')`,
    `INSERT INTO webhook_deliveries (id, account_id, webhook_id, event_id, event, body, created_at, status, finished_at)
     VALUES ('dlv_0', 1, 'wh_1', 'evt_0', 'payment.sent', '{}', now(), 'failed', now())`,
    `INSERT INTO deposits (id, chain, tx_hash, position, block_number, account_id, address, sender, asset, atomic,
        transfer_id, home_bound, kept_at)
     VALUES ('dep_0', 'BASE', '0x3', 0, 1, ${owner?.id}, '0x1', '0x2', 'USDC', 1, 'tr_0', true, now())`,
  ];
  for (const statement of statements) await db.query(statement);
}

const address = `0x${'1'.repeat(40)}`;
const step = '00000000-0000-4000-8000-000000000001';
/** A transaction of a step that expects nothing. */
const lone = '00000000-0000-4000-8000-000000000002';
const someone = '(SELECT min(id) FROM accounts)';

const attempt = (transaction: string) =>
  `INSERT INTO key_transaction_attempts (hash, transaction_id, raw, max_fee, priority_fee)
   VALUES ('hash of ${transaction}', '${transaction}', '', 1, 1)`;
const deposit = (id: string, homeBound: boolean) =>
  `INSERT INTO deposits (id, chain, tx_hash, position, block_number, account_id, address, sender, asset, atomic,
      transfer_id, home_bound)
   VALUES ('${id}', 'BASE', '${id}', 0, 1, ${someone}, '0x1', '0x2', 'USDC', 1, 'tr_1', ${homeBound})`;

describe('a loop that rests', () => {
  beforeAll(fill);

  it.each([
    {
      topic: 'events',
      work: `INSERT INTO ledger.events (id, account_id, type, data, created_at)
             VALUES (gen_random_uuid(), 1, 'payment.sent', '{}', now())`,
    },
    {
      topic: 'deliveries',
      work: `INSERT INTO webhook_deliveries (id, account_id, webhook_id, event_id, event, body, created_at)
             VALUES ('dlv_1', 1, 'wh_1', 'evt_1', 'payment.sent', '{}', now())`,
    },
    {
      topic: 'sweeps/BASE',
      work: "INSERT INTO unswept_changes (chain, asset, address) VALUES ('BASE', 'USDC', '0x1')",
    },
    {
      topic: 'arrivals/BASE',
      work: `INSERT INTO undecided_arrivals (chain, tx_hash, position, block_number, address, sender, asset, atomic, proofs)
             VALUES ('BASE', '0x1', 0, 1, '0x1', '0x2', 'USDC', 1, '{}')`,
    },
    { topic: 'arrivals/BASE', work: attempt(step) },
    { topic: 'arrivals/BASE', work: `UPDATE chain_steps SET hash = '0x5' WHERE id = '${step}'` },
    {
      topic: 'held_deposits/BASE',
      work: `INSERT INTO held_deposits (id, chain, tx_hash, position, block_number, address, sender, asset, atomic, proofs,
               because)
             VALUES ('held_1', 'BASE', '0x1', 0, 1, '0x1', '0x2', 'USDC', 1, '{}', 'one node')`,
    },
    { topic: 'held_deposits/BASE', work: "UPDATE held_deposits SET released_at = now() WHERE id = 'held_1'" },
    {
      topic: 'funding_links/BASE',
      work: `INSERT INTO funding_links (id, account_id, chain, asset, atomic, token_hash, expires_at)
             VALUES ('fl_1', ${someone}, 'BASE', 'USDC', 1, sha256('token'), clock_timestamp() + interval '1 hour')`,
    },
    { topic: 'carry_home/BASE', work: deposit('dep_1', true) },
    { topic: 'carry_home/BASE', work: "UPDATE deposits SET kept_at = NULL WHERE id = 'dep_0'" },
    {
      topic: 'deliveries',
      work: "UPDATE webhook_deliveries SET status = 'pending', finished_at = NULL WHERE id = 'dlv_0'",
    },
    { topic: 'deliveries', work: "UPDATE webhooks SET status = 'deleted', ended_at = now() WHERE id = 'wh_1'" },
  ])('is woken by the commit of its work: $topic, $work', async ({ topic, work }) => {
    const wakes = await start();
    const woken = nextCall();
    const others: string[] = [];
    wakes.on(topic, woken.call);
    wakes.on('sweeps/OP', () => void others.push('sweeps/OP'));
    await db.query(work);
    await woken.promise;
    expect(others).toEqual([]);
    expect(wakes.restMs(100)).toBeGreaterThan(100);
  });

  it.each([
    { topic: 'arrivals/BASE', work: attempt(lone) },
    { topic: 'carry_home/BASE', work: deposit('dep_2', false) },
    { topic: 'held_deposits/BASE', work: "UPDATE held_deposits SET because = 'another' WHERE id = 'held_1'" },
    { topic: 'deliveries', work: "UPDATE webhook_deliveries SET attempts = 1 WHERE id = 'dlv_0'" },
  ])('is not woken by what is no work of its: $topic, $work', async ({ topic, work }) => {
    const wakes = await start();
    const heard: string[] = [];
    wakes.on(topic, () => void heard.push(topic));
    const later = nextCall();
    wakes.on('after it', later.call);
    await db.query(work);
    // Notifications arrive in the order of their commits.
    await db.query("SELECT pg_notify('paywright_work', 'after it')");
    await later.promise;
    expect(heard).toEqual([]);
  });

  it('keeps its pace while notifications are lost, and is woken when they are and when they arrive again', async () => {
    const wakes = await start();
    const lost = nextCall();
    const back = nextCall();
    const returned = nextCall();
    wakes.onReturn(returned.call);
    let isLost = false;
    wakes.on('events', () => {
      if (!isLost) {
        expect(wakes.restMs(100)).toBe(100);
        lost.call();
      } else if (wakes.restMs(100) > 100) back.call();
      isLost = true;
    });
    await db.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'paywright-wakes'");
    await lost.promise;
    await back.promise;
    await returned.promise;
  });
});

const job = defineJob({ name: 'look-later', payload: z.object({}), maxAttempts: 3 });
const other = defineJob({ name: 'look-elsewhere', payload: z.object({}), maxAttempts: 3 });

describe('a job that is due later', () => {
  it('runs when it is due, although its lane asks for nothing meanwhile', async () => {
    const ran = nextCall();
    const handlers = [handleJob(job, async () => ran.call())];
    const worker = await startWorker({ db, url, logger, handlers, schedules: [] });
    onTestFinished(() => worker.stop());
    await enqueue(db, job, {}, { delayMs: 300 });
    await ran.promise;
  });

  it('is found when no notification told of it', async () => {
    const pool = openPool({ connectionString: url, max: 1 });
    await enqueue(db, job, {});
    const woken = nextCall<readonly string[]>();
    const alarm = startJobAlarm({ pool, logger, tasks: ['look-later'], wake: woken.call });
    onTestFinished(async () => {
      await alarm.stop();
      await pool.end();
    });
    expect(await woken.promise).toEqual(['look-later']);
  });

  it('is looked for until its lane has taken it, behind whatever backlog of others', async () => {
    await Promise.all(Array.from({ length: 1_100 }, () => enqueue(db, other, {})));
    await enqueue(db, job, {});
    const pool = openPool({ connectionString: url, max: 1 });
    const thrice = nextCall();
    let looks = 0;
    const alarm = startJobAlarm({
      pool,
      logger,
      tasks: ['look-later'],
      wake(tasks) {
        expect(tasks).toEqual(['look-later']);
        if (++looks === 3) thrice.call();
      },
    });
    onTestFinished(async () => {
      await alarm.stop();
      await pool.end();
    });
    await thrice.promise;
  });

  it('runs at once when the lane has just found nothing, however often', async () => {
    const runs: (() => void)[] = [];
    const handlers = [handleJob(job, async () => runs.shift()?.())];
    const worker = await startWorker({ db, url, logger, handlers, schedules: [], slots: { general: 1 } });
    onTestFinished(() => worker.stop());
    for (let round = 0; round < 20; round++) {
      const ran = nextCall();
      runs.push(ran.call);
      await enqueue(db, job, {});
      await ran.promise;
    }
  });
});
