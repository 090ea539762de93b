import type { PublicClient } from 'viem';
import { findReceipt } from '../chains/find-receipt.ts';
import type { Network } from '../chains/network.ts';
import type { Database } from '../db/database.ts';
import type { Logger } from '../logger.ts';
import { type ChainCursor, listCheckpoints } from './chain-cursor.ts';

/** The node knows none of the blocks that were read: it serves another chain, or has lost more than we remember. */
export class UnknownChain extends Error {
  override readonly name = 'UnknownChain';
}

/** Whether a block below the head is still part of the chain. A node that has no such block lags behind, and this throws. */
export async function isOnChain(client: PublicClient, { number, hash }: ChainCursor): Promise<boolean> {
  return (await client.getBlock({ blockNumber: number })).hash === hash;
}

/** The newest block of those that were read that is still part of the chain. */
export async function findForkPoint(db: Database, { id, client }: Network): Promise<ChainCursor> {
  const checkpoints = await listCheckpoints(db, id);
  // What is on the chain is there with everything before it, so the place is found by halving.
  let [found, first, end] = [undefined as ChainCursor | undefined, 0, checkpoints.length];
  while (first < end) {
    const middle = (first + end) >> 1;
    const checkpoint = checkpoints[middle] as ChainCursor;
    if (await isOnChain(client, checkpoint)) [found, end] = [checkpoint, middle];
    else first = middle + 1;
  }
  if (found === undefined) {
    throw new UnknownChain(`none of the last ${checkpoints.length} blocks that were read is on this chain`);
  }
  return found;
}

/**
 * Names the deposits that were credited and whose transaction is on the chain no more. Their credit stays: it may be
 * mined again, and then it is recognised; if it never is, money was given that is not there, and a person must decide
 * (`paywright deposits reverse`).
 */
export async function nameVanished(
  { db, logger }: { readonly db: Database; readonly logger: Logger },
  { id: chain, client }: Network,
  after: ChainCursor,
): Promise<void> {
  const { rows } = await db.query<{ id: string; tx_hash: `0x${string}` }>(
    `SELECT id, tx_hash FROM deposits d WHERE chain = $1 AND block_number > $2
        AND NOT EXISTS (SELECT FROM deposit_reversals r WHERE r.deposit_id = d.id) ORDER BY id`,
    [chain, after.number],
  );
  for (const { id, tx_hash: hash } of rows) {
    if ((await findReceipt(client, hash)) !== undefined) continue;
    await db.query('UPDATE deposits SET vanished_at = now() WHERE id = $1', [id]);
    logger.error({ chain, deposit: id, txHash: hash }, 'a deposit that was credited is not on the chain any more');
  }
}
