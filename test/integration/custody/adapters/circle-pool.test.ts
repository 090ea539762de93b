import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createPooledProvider, type PooledProvider, type PoolParts } from '../../../../src/custody/wallets/pool.ts';
import { ProviderError } from '../../../../src/custody/wallets/provider.ts';
import { newId } from '../../../../src/kernel/ids/ids.ts';
import { startWorker } from '../../../../src/kernel/jobs/worker.ts';
import { createLogger } from '../../../../src/kernel/log/logger.ts';
import { fast, useCircle } from '../../../emulators/circle/connect.ts';
import { useDatabase } from '../../../support/database.ts';

const database = useDatabase();
const { db } = database;
const circle = useCircle(database);
const logger = createLogger('silent');
const onWallets = ({ path }: { path: string }) => path.endsWith('/developer/wallets');

const pool = (parts: Partial<PoolParts> = {}): PooledProvider =>
  createPooledProvider({ db, provider: circle.provider, logger, size: 10, ...parts });
const take = (from: PooledProvider) => from.createWallet({ chain: 'MATIC' });
const requests = () => circle.emulator.exchanges.filter(onWallets).length;
const madeAtCircle = () => circle.emulator.wallets.wallets.size;
const outcome = (promise: Promise<unknown>) => promise.catch((error: unknown) => error);

async function free(): Promise<number> {
  const { rows } = await db.query<{ n: number }>('SELECT count(*)::int AS n FROM wallet_pool WHERE taken_at IS NULL');
  return rows[0]?.n ?? 0;
}

/** Circle leaves a request unanswered until it is told to break the connection: then the same is asked again. */
async function connectToSilence() {
  let breakOff = () => {};
  const until = new Promise<void>((resolve) => {
    breakOff = resolve;
  });
  circle.emulator.faults.next({ trouble: { how: 'hang', until }, on: onWallets });
  const provider = await circle.connect({ limits: { ...fast, timeoutMs: 60_000, totalMs: 120_000 } });
  return { provider, breakOff };
}

/** As if the process that began them had died long ago. */
async function abandonBatches(): Promise<void> {
  await db.query("UPDATE wallet_batches SET asked_at = now() - interval '1 hour' WHERE answered_at IS NULL");
}

beforeEach(async () => {
  await db.query('DELETE FROM wallet_pool');
  await db.query('DELETE FROM wallet_batches');
  await db.query('DELETE FROM graphile_worker._private_jobs');
});
afterEach(async () => {
  circle.emulator.faults.clear();
});

describe('the pool of wallets', () => {
  it('is filled with one request, and gives without asking Circle', async () => {
    const wallets = pool({ size: 30 });
    const before = requests();
    await wallets.refill();
    expect(requests() - before).toBe(1);
    expect(await free()).toBe(30);
    const taken = await Promise.all(Array.from({ length: 12 }, () => take(wallets)));
    expect(requests() - before).toBe(1);
    expect(new Set(taken.map(({ address }) => address)).size).toBe(12);
    for (const { ref, address } of taken) {
      expect(circle.emulator.wallets.get(ref).account.address).toBe(address);
    }
    await wallets.refill();
    expect(await free()).toBe(30);
  });

  it('gives no wallet twice, however many take at once from however many instances', async () => {
    await pool({ size: 60 }).refill();
    const instances = [pool({ size: 60 }), pool({ size: 60 }), pool({ size: 60 })];
    const taken = await Promise.all(Array.from({ length: 75 }, (_, at) => take(instances[at % 3] ?? pool())));
    expect(new Set(taken.map(({ ref }) => ref)).size).toBe(75);
    expect(new Set(taken.map(({ address }) => address)).size).toBe(75);
  });

  it('asks Circle for one when it is empty, and for many soon after', async () => {
    const wallets = pool();
    const wallet = await take(wallets);
    expect(circle.emulator.wallets.get(wallet.ref).account.address).toBe(wallet.address);
    const worker = await startWorker({ db, url: database.url, logger, handlers: [], schedules: [wallets.schedule] });
    try {
      await expect.poll(free).toBe(10);
    } finally {
      await worker.stop();
    }
  });

  it('calls to be filled when it is half empty, and not before', async () => {
    const wallets = pool({ size: 6 });
    await wallets.refill();
    const calls = async () => (await db.query('SELECT FROM graphile_worker.jobs')).rowCount;
    for (let taken = 0; taken < 3; taken++) await take(wallets);
    expect(await calls()).toBe(0);
    for (let taken = 0; taken < 3; taken++) await take(wallets);
    expect(await calls()).toBe(1);
  });

  it('is not overfilled by instances that fill it at once', async () => {
    await Promise.all(Array.from({ length: 5 }, () => pool().refill()));
    expect(await free()).toBe(10);
  });

  it('makes more than Circle makes at once in several requests', async () => {
    const before = requests();
    await pool({ size: 230 }).refill();
    expect(requests() - before).toBe(2);
    expect(await free()).toBe(230);
  });

  it('loses no wallet when the answer to filling it is lost: the same request brings the same wallets', async () => {
    const hasty = await circle.connect({ limits: { ...fast, tries: 1 } });
    const wallets = pool({ provider: hasty });
    circle.emulator.faults.next({ trouble: { how: 'lose-answer' }, on: onWallets });
    const before = madeAtCircle();
    expect(await outcome(wallets.refill())).toMatchObject({ name: 'ProviderError', retryable: true });
    expect(madeAtCircle() - before).toBe(10);
    expect(await free()).toBe(0);

    // Whoever asked might still be there: nobody asks for ten more.
    await wallets.refill();
    expect(madeAtCircle() - before).toBe(10);
    await abandonBatches();
    await Promise.all([wallets.refill(), pool().refill(), pool().refill()]);
    expect(madeAtCircle() - before).toBe(10);
    expect(await free()).toBe(10);
  });

  it('begins anew when a request was refused for good', async () => {
    circle.emulator.faults.next({ trouble: { how: 'refuse', status: 400, code: 2 }, on: onWallets });
    expect(await outcome(pool().refill())).toMatchObject({ retryable: false });
    await pool().refill();
    expect(await free()).toBe(10);
  });

  it('takes back what was not used, and never what belongs to somebody', async () => {
    const wallets = pool({ size: 2 });
    await wallets.refill();
    const [unused, used] = [await take(wallets), await take(wallets)];
    await db.query(
      `INSERT INTO house_wallets (id, purpose, chain, provider, provider_ref, address)
       VALUES ($1, 'gas', 'MATIC', 'circle', $2, $3)`,
      [newId('wal'), used.ref, used.address],
    );
    await wallets.giveBack(unused);
    await wallets.giveBack(used);
    await wallets.giveBack({ ref: randomUUID(), address: unused.address });
    expect(await free()).toBe(1);
    expect(await take(wallets)).toEqual(unused);
    await db.query('DELETE FROM house_wallets');
  });

  it('leaves other chains, and those who bring a key, to the provider', async () => {
    const wallets = pool({ size: 2 });
    await wallets.refill();
    const abroad = await wallets.createWallet({ chain: 'ETH' });
    const named = await wallets.createWallet({ chain: 'MATIC', idempotencyKey: randomUUID() });
    expect(await free()).toBe(2);
    const [first, second] = [await take(wallets), await take(wallets)];
    expect(new Set([abroad, named, first, second].map(({ address }) => address)).size).toBe(4);
  });
});

describe('an empty pool when Circle is away', () => {
  it('says so quickly, as something that passes', async () => {
    const away = await circle.connect({ baseUrl: 'http://127.0.0.1:9' });
    const started = performance.now();
    const error = await outcome(take(pool({ provider: away })));
    expect(error).toBeInstanceOf(ProviderError);
    expect(error).toMatchObject({ retryable: true });
    expect(performance.now() - started).toBeLessThan(20_000);
  });

  it('does not keep anybody waiting for an answer that does not come, and keeps the wallet for the next', async () => {
    await take(pool());
    const { provider, breakOff } = await connectToSilence();
    const wallets = pool({ provider, patienceMs: 200 });
    const error = await outcome(take(wallets));
    expect(error).toMatchObject({ code: 'provider_unreachable', retryable: true, retryAfterMs: 5_000 });
    breakOff();
    await expect.poll(free).toBe(1);
    const before = requests();
    await take(wallets);
    expect(requests()).toBe(before);
  });

  it('gives a wallet that two got the answer for to one of them', async () => {
    const wallets = pool({ size: 1 });
    await take(wallets);
    const { provider, breakOff } = await connectToSilence();
    const waiting = take(pool({ provider, size: 1, patienceMs: 120_000 }));
    await expect
      .poll(async () => (await db.query('SELECT FROM wallet_batches WHERE answered_at IS NULL')).rowCount)
      .toBe(1);
    // Another instance takes the slow one for dead, and files its wallet as free.
    await abandonBatches();
    await pool({ size: 1 }).refill();
    const other = await take(pool({ size: 1 }));
    expect(other.address).toMatch(/^0x/);
    breakOff();
    expect(await outcome(waiting)).toMatchObject({ code: 'provider_busy', retryable: true });
  });
});
