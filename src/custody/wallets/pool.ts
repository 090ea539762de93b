import { randomUUID } from 'node:crypto';
import { getAddress } from 'viem';
import { z } from 'zod';
import { type Database, onlyRow, type Queryable } from '../../kernel/db/database.ts';
import { lockUntilCommit } from '../../kernel/db/locks.ts';
import { defineJob, enqueue, handleJob } from '../../kernel/jobs/define-job.ts';
import type { Schedule } from '../../kernel/jobs/worker.ts';
import type { Logger } from '../../kernel/log/logger.ts';
import { type ChainId, homeChain } from '../../money/catalogue.ts';
import { type NewWallet, ProviderError, type WalletProvider } from './provider.ts';

/** A provider that creates many wallets in one call, and returns the same ones for the same key. */
export interface WalletMaker extends WalletProvider {
  createWallets(request: {
    readonly chain: ChainId;
    readonly count: number;
    readonly idempotencyKey: string;
  }): Promise<readonly NewWallet[]>;
}

export interface PoolParts {
  readonly db: Database;
  readonly provider: WalletMaker;
  readonly logger: Logger;
  /** How many wallets are kept ready. */
  readonly size: number;
  /** How long a request waits for a new wallet when none is ready. */
  readonly patienceMs?: number;
}

/** Like the provider itself, but wallets on the home chain come from the pool. */
export interface PooledProvider extends WalletProvider {
  /** Returns an unused wallet to the pool. A wallet that is assigned by now stays assigned. */
  giveBack(wallet: NewWallet): Promise<void>;
  /** Creates the missing wallets, and finishes batches that were begun and abandoned. */
  refill(): Promise<void>;
  /** Runs `refill` every minute, and as soon as the pool runs low. */
  readonly schedule: Schedule;
}

/** Circle's limit per request. */
const largestBatch = 200;

/** A request older than this was abandoned. */
const abandonedAfterSeconds = 60;

/** A registration may be waiting for it, so it does not queue behind scheduled jobs. */
const refillJob = defineJob({ name: 'refill-wallet-pool', payload: z.unknown(), maxAttempts: 3, lane: 'general' });

/** Keeps wallets ready, because registration should not wait for a provider that accepts five requests a second. */
export function createPooledProvider({ db, provider, logger, size, patienceMs = 8_000 }: PoolParts): PooledProvider {
  /** Requests a recorded batch and stores its wallets. Only the first caller to get the answer stores it. */
  async function fulfil({ id, chain, wallets: count }: Batch, taken: boolean): Promise<readonly NewWallet[]> {
    const made = await provider.createWallets({ chain, count, idempotencyKey: id }).catch(async (error: unknown) => {
      const isRefused = error instanceof ProviderError && !error.retryable;
      if (isRefused) await db.query('DELETE FROM wallet_batches WHERE id = $1 AND answered_at IS NULL', [id]);
      throw error;
    });
    return db.transaction(async (tx) => {
      const { rowCount } = await tx.query(
        'UPDATE wallet_batches SET answered_at = now() WHERE id = $1 AND answered_at IS NULL',
        [id],
      );
      if (rowCount !== 1) return [];
      await tx.query(
        `INSERT INTO wallet_pool (provider, chain, provider_ref, address, batch_id, taken_at)
         SELECT $1, $2, ref, address, $3, CASE WHEN $4 THEN now() END FROM unnest($5::text[], $6::text[]) AS made (ref, address)`,
        [provider.name, chain, id, taken, made.map(({ ref }) => ref), made.map(({ address }) => address)],
      );
      return made;
    });
  }

  async function take(): Promise<NewWallet | undefined> {
    const { rows } = await db.query<NewWallet & { left: number }>(
      `UPDATE wallet_pool SET taken_at = now()
        WHERE provider = $1 AND provider_ref = (
          SELECT provider_ref FROM wallet_pool WHERE provider = $1 AND chain = $2 AND taken_at IS NULL
           ORDER BY made_at LIMIT 1 FOR UPDATE SKIP LOCKED)
        RETURNING provider_ref AS ref, address,
          (SELECT count(*)::integer FROM wallet_pool WHERE provider = $1 AND chain = $2 AND taken_at IS NULL) - 1 AS left`,
      [provider.name, homeChain],
    );
    const [row] = rows;
    // The key makes concurrent calls enqueue one job.
    if (row === undefined || row.left < size / 2) await enqueue(db, refillJob, {}, { key: refillJob.name });
    return row && { ref: row.ref, address: getAddress(row.address) };
  }

  /**
   * The pool is empty: creates a wallet for this caller. If the caller gives up waiting, the wallet goes to the pool.
   */
  async function makeOne(): Promise<NewWallet> {
    const batch = await writeDown(db, { provider: provider.name, chain: homeChain, wallets: 1 });
    const making = fulfil(batch, true);
    const [made] = await withinPatience(making, patienceMs, () => {
      making
        .then((late) => Promise.all(late.map(giveBack)))
        .catch((err: unknown) =>
          logger.warn({ err }, 'creating a wallet failed after its caller had given up; it will be retried'),
        );
    });
    const wallet = made ?? (await take());
    if (wallet !== undefined) return wallet;
    throw new ProviderError('Another request took the new wallet.', {
      retryable: true,
      code: 'provider_busy',
      retryAfterMs: 1_000,
    });
  }

  async function giveBack({ ref }: NewWallet): Promise<void> {
    await db.query(
      `UPDATE wallet_pool SET taken_at = NULL
        WHERE provider = $1 AND provider_ref = $2
          AND NOT EXISTS (SELECT FROM wallets w WHERE w.provider = $1 AND w.provider_ref = $2)
          AND NOT EXISTS (SELECT FROM house_wallets h WHERE h.provider = $1 AND h.provider_ref = $2)`,
      [provider.name, ref],
    );
  }

  async function refill(): Promise<void> {
    for (
      let batch = await takeUpAbandoned(db, provider.name);
      batch;
      batch = await takeUpAbandoned(db, provider.name)
    ) {
      await fulfil(batch, false);
    }
    for (
      let batch = await planBatch(db, provider.name, size);
      batch;
      batch = await planBatch(db, provider.name, size)
    ) {
      const made = await fulfil(batch, false);
      logger.info({ wallets: made.length }, 'the wallet pool was refilled');
      // A provider that created nothing would create nothing again.
      if (made.length === 0) return;
    }
  }

  return {
    ...provider,
    async createWallet(request) {
      // A caller with a key wants that key's wallet, and the pool only holds the home chain's.
      if (request.idempotencyKey !== undefined || request.chain !== homeChain) return provider.createWallet(request);
      return (await take()) ?? makeOne();
    },
    giveBack,
    refill,
    schedule: { at: '* * * * *', handler: handleJob(refillJob, refill) },
  };
}

interface Batch {
  readonly id: string;
  readonly chain: ChainId;
  readonly wallets: number;
}

async function writeDown(db: Queryable, batch: Omit<Batch, 'id'> & { provider: string }): Promise<Batch> {
  return onlyRow(
    await db.query<Batch>(
      'INSERT INTO wallet_batches (id, provider, chain, wallets) VALUES ($1, $2, $3, $4) RETURNING id, chain, wallets',
      [randomUUID(), batch.provider, batch.chain, batch.wallets],
    ),
  );
}

/** A batch for the missing wallets, counting those already requested. Undefined when none is missing. */
async function planBatch(db: Database, provider: string, size: number): Promise<Batch | undefined> {
  return db.transaction(async (tx) => {
    // Serialized, because concurrent planners would all request the same wallets.
    await lockUntilCommit(tx, 'walletPool');
    const { expected } = onlyRow(
      await tx.query<{ expected: number }>(
        `SELECT (SELECT count(*)::integer FROM wallet_pool WHERE provider = $1 AND chain = $2 AND taken_at IS NULL)
              + (SELECT coalesce(sum(wallets), 0) FROM wallet_batches
                  WHERE provider = $1 AND chain = $2 AND answered_at IS NULL)::integer AS expected`,
        [provider, homeChain],
      ),
    );
    const missing = size - expected;
    if (missing <= 0) return undefined;
    return writeDown(tx, { provider, chain: homeChain, wallets: Math.min(missing, largestBatch) });
  });
}

async function takeUpAbandoned(db: Database, provider: string): Promise<Batch | undefined> {
  const { rows } = await db.query<Batch>(
    `UPDATE wallet_batches SET asked_at = now()
      WHERE id = (SELECT id FROM wallet_batches
                   WHERE provider = $1 AND answered_at IS NULL AND asked_at < now() - make_interval(secs => $2)
                   ORDER BY asked_at LIMIT 1 FOR UPDATE SKIP LOCKED)
      RETURNING id, chain, wallets`,
    [provider, abandonedAfterSeconds],
  );
  return rows[0];
}

async function withinPatience<Result>(work: Promise<Result>, ms: number, onLate: () => void): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      onLate();
      const message = 'No wallet is ready, and creating one takes too long.';
      reject(new ProviderError(message, { retryable: true, code: 'provider_unreachable', retryAfterMs: 5_000 }));
    }, ms);
  });
  return Promise.race([work, tooLate]).finally(() => clearTimeout(timer));
}
