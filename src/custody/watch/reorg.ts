import type { Hex, PublicClient } from 'viem';
import type { Network } from '../../chains/network.ts';
import type { Database } from '../../kernel/db/database.ts';
import type { Logger } from '../../kernel/log/logger.ts';
import type { Asset } from '../../money/catalogue.ts';
import { findShown } from './ask-nodes.ts';
import { type ChainCursor, listCheckpoints } from './chain-cursor.ts';

/** The node knows none of the blocks that were read: it serves another chain, or a reorg is longer than we remember. */
export class UnknownChain extends Error {
  override readonly name = 'UnknownChain';
}

/** Whether a block is still part of the chain. Throws when the node lags behind and has no such block. */
export async function isOnChain(client: PublicClient, { number, hash }: ChainCursor): Promise<boolean> {
  return (await client.getBlock({ blockNumber: number })).hash === hash;
}

/** The newest block that was read and is still part of the chain. */
export async function findForkPoint(db: Database, { id, client }: Network): Promise<ChainCursor> {
  const checkpoints = await listCheckpoints(db, id);
  // A block on the chain has all earlier ones below it, so a binary search finds the fork.
  let [found, first, end] = [undefined as ChainCursor | undefined, 0, checkpoints.length];
  while (first < end) {
    const middle = (first + end) >> 1;
    const checkpoint = checkpoints[middle] as ChainCursor;
    if (await isOnChain(client, checkpoint)) [found, end] = [checkpoint, middle];
    else first = middle + 1;
  }
  if (found === undefined) {
    throw new UnknownChain(`this chain has none of the last ${checkpoints.length} blocks that were read`);
  }
  return found;
}

/**
 * Marks the deposits after a reorg's fork as vanished until they are read again. A deposit whose transfer the chain no
 * longer shows as credited (gone, reverted or different) is logged at once. A receipt is no proof, because its block is
 * not final: if it goes, the deposit stays vanished. Credits stay, and are recognized when the transfer is read again.
 * If it never is, the operator decides (`paywright deposits reverse`).
 */
export async function markVanishedAfter(
  { db, logger }: { readonly db: Database; readonly logger: Logger },
  network: Network,
  after: ChainCursor,
): Promise<void> {
  const { id: chain, client } = network;
  const { rows } = await db.query<{
    id: string;
    txHash: Hex;
    position: number;
    address: Hex;
    asset: Asset;
    atomic: bigint;
  }>(
    `UPDATE deposits d SET vanished_at = coalesce(vanished_at, now()) WHERE chain = $1 AND block_number > $2
        AND NOT EXISTS (SELECT FROM deposit_reversals r WHERE r.deposit_id = d.id)
      RETURNING id, tx_hash, position, address, asset, atomic`,
    [chain, after.number],
  );
  for (const { id, txHash, position, address: recipient, asset, atomic } of rows) {
    const shown = await findShown(network, client, { txHash, position, recipient, asset });
    if (shown?.atomic === atomic) continue;
    logger.error({ chain, deposit: id, txHash }, 'a credited deposit is no longer on the chain');
  }
}
