import { randomBytes, randomUUID } from 'node:crypto';
import pg from 'pg';
import { houseAccount, userAccount } from '../src/ledger/account-id.ts';
import { encodeBatch } from '../src/ledger/encode-batch.ts';
import { postCall } from '../src/ledger/post-batch.ts';
import type { Posting } from '../src/ledger/posting.ts';
import { amountOf } from '../src/money/amount.ts';
import { cpuPerThing } from './cpu.ts';
import { postmasterOf } from './http.ts';
import { type Measured, summarise } from './measure.ts';

export interface PostingFunctionOptions {
  readonly url: string;
  readonly owners: readonly bigint[];
  readonly batchSize: number;
  readonly seconds: number;
}

/**
 * The posting function as the batcher calls it, on one connection, with an API key to check, an Idempotency-Key to keep
 * and two events to offer on every transfer. Only the calls count, not the making of the batches.
 */
export async function measurePostingFunction(options: PostingFunctionOptions): Promise<Measured> {
  const { url, owners, batchSize, seconds } = options;
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const call = async (isKnown: () => boolean): Promise<number> => {
    const postings = Array.from({ length: batchSize }, () => randomTransfer(owners));
    const { values } = encodeBatch(postings, isKnown);
    const started = performance.now();
    const { rows } = await client.query<{ outcomes: string }>({ ...postCall, values });
    const tookMs = performance.now() - started;
    if (rows[0]?.outcomes !== 'P'.repeat(batchSize)) throw new Error(`refused: ${rows[0]?.outcomes}`);
    return tookMs;
  };
  // The first calls open the fee account and plan the statements.
  for (let warmUp = 0; warmUp < 6; warmUp++) await call(() => false);
  const latencies: number[] = [];
  let spentMs = 0;
  const { cpu } = await cpuPerThing(
    { postgres: await postmasterOf(url) },
    async () => {
      while (spentMs < seconds * 1_000) {
        const tookMs = await call(() => true);
        latencies.push(tookMs);
        spentMs += tookMs;
      }
    },
    () => latencies.length * batchSize,
  );
  await client.end();
  return { ...summarise(latencies.length * batchSize, spentMs, latencies), cpu };
}

function randomTransfer(owners: readonly bigint[]): Posting {
  const fromIndex = Math.floor(Math.random() * owners.length);
  const toIndex = (fromIndex + 1 + Math.floor(Math.random() * (owners.length - 1))) % owners.length;
  const senderId = owners[fromIndex] as bigint;
  const recipientId = owners[toIndex] as bigint;
  return {
    type: 'transfer',
    amount: amountOf('USDC', 50_000_000n),
    fee: amountOf('USDC', 750_000n),
    senderId,
    recipientId,
    keyId: `key_${senderId}`,
    idempotency: { accountId: senderId, key: randomUUID(), requestHash: randomBytes(32) },
    senderEvent: 'payment.sent',
    recipientEvent: 'payment.received',
    entries: [
      { account: userAccount(senderId, 'USDC'), atomic: -50_000_000n },
      { account: userAccount(recipientId, 'USDC'), atomic: 49_250_000n },
      { account: houseAccount('fees', 'USDC'), atomic: 750_000n },
    ],
  };
}
