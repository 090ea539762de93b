import { randomBytes, randomUUID } from 'node:crypto';
import pg from 'pg';
import { houseAccount, slotCount, userAccount } from '../src/ledger/account-id.ts';
import { encodeBatch } from '../src/ledger/encode-batch.ts';
import { anySlot } from '../src/ledger/fee-slots.ts';
import { postCall } from '../src/ledger/post-batch.ts';
import type { Authority, Posting } from '../src/ledger/posting.ts';
import { amountOf } from '../src/money/amount.ts';
import { cpuPerThing } from './cpu.ts';
import { postmasterOf } from './http.ts';
import { type Measured, summarise } from './measure.ts';

export interface PostingFunctionOptions {
  readonly url: string;
  readonly owners: readonly bigint[];
  readonly batchSize: number;
  readonly seconds: number;
  /** Each posts for people of its own, so that they meet at the house's accounts only. */
  readonly connections?: number;
  /** What a sender's payments take of budgets. */
  readonly authorityOf?: (senderId: bigint) => Authority;
}

/**
 * The posting function as the batcher calls it, with an API key to check, an Idempotency-Key to keep and two events to
 * offer on every transfer. Only the calls count, not the making of the batches, which are made beforehand.
 */
export async function measurePostingFunction(options: PostingFunctionOptions): Promise<Measured> {
  const { url, owners, batchSize, seconds, connections = 1, authorityOf } = options;
  const share = Math.floor(owners.length / connections);
  const lines = await Promise.all(
    Array.from({ length: connections }, (_, index) =>
      openLine(url, owners.slice(index * share, (index + 1) * share), batchSize, authorityOf),
    ),
  );
  const latencies: number[] = [];
  let spentMs = 0;
  const { cpu } = await cpuPerThing(
    { postgres: await postmasterOf(url) },
    async () => {
      while (spentMs < seconds * 1_000) {
        const prepared = lines.map(({ prepare }) => prepare());
        const started = performance.now();
        await Promise.all(lines.map(async ({ post }, index) => latencies.push(...(await post(prepared[index] ?? [])))));
        spentMs += performance.now() - started;
      }
    },
    () => latencies.length * batchSize,
  );
  for (const { client } of lines) await client.end();
  return { ...summarise(latencies.length * batchSize, spentMs, latencies), cpu };
}

type Values = (string | null)[];

async function openLine(
  url: string,
  owners: readonly bigint[],
  batchSize: number,
  authorityOf: PostingFunctionOptions['authorityOf'],
) {
  const client = new pg.Client({ connectionString: url });
  // What a call throws is the reason, and not the end of the connection after it.
  client.on('error', () => {});
  await client.connect();
  const make = (isKnown: () => boolean, slot: number) => {
    const postings = Array.from({ length: batchSize }, () => {
      const posting = randomTransfer(owners);
      return authorityOf ? { ...posting, authority: authorityOf(posting.senderId as bigint) } : posting;
    });
    return encodeBatch(postings, { isKnown, slot }).values;
  };
  const post = async (batches: readonly Values[]): Promise<number[]> => {
    const latencies: number[] = [];
    for (const values of batches) {
      const started = performance.now();
      const { rows } = await client.query<{ outcomes: string }>({ ...postCall, values });
      latencies.push(performance.now() - started);
      if (rows[0]?.outcomes !== 'P'.repeat(batchSize)) throw new Error(`refused: ${rows[0]?.outcomes}`);
    }
    return latencies;
  };
  // The first calls plan the statements, and open the accounts for fees.
  for (let slot = 0; slot < slotCount; slot++) await post([make(() => false, slot)]);
  const atOnce = Math.max(1, Math.round(4_000 / batchSize));
  return { client, post, prepare: () => Array.from({ length: atOnce }, () => make(() => true, anySlot())) };
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
    idempotency: { accountId: senderId, key: randomUUID(), requestHash: randomBytes(32).toString('hex') },
    senderEvent: 'payment.sent',
    recipientEvent: 'payment.received',
    entries: [
      { account: userAccount(senderId, 'USDC'), atomic: -50_000_000n },
      { account: userAccount(recipientId, 'USDC'), atomic: 49_250_000n },
      { account: houseAccount('fees', 'USDC'), atomic: 750_000n },
    ],
  };
}
