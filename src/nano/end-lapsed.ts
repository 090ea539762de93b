import type { Network } from '../chains/network.ts';
import type { Database } from '../db/database.ts';
import { findCursor } from '../deposits/chain-cursor.ts';
import { isOnChain } from '../deposits/reorganisation.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { postSurely } from '../ledger/post-surely.ts';
import type { Logger } from '../logger.ts';
import { endClaims } from './end-claims.ts';

const atOnce = 500;

/**
 * Ends the payments whose time is over: once a block that was read has reached it and they have not arrived, they never will.
 * Those that a settlement has under way are judged by it.
 */
export async function endLapsed(
  { db, ledger, logger }: { readonly db: Database; readonly ledger: Ledger; readonly logger: Logger },
  network: Network,
): Promise<void> {
  const over = await overBy(db, network, undefined);
  if (over.length === 0) return;
  await network.letTimePass(over.reduce((last, { validBefore }) => (validBefore > last ? validBefore : last), 0n));
  const cursor = await findCursor(db, network.id);
  if (cursor === undefined || !(await isOnChain(network.client, cursor))) return;
  const { timestamp } = await network.client.getBlock({ blockNumber: cursor.number });
  const ended = await overBy(db, network, timestamp);
  if (ended.length === 0) return;
  await db.transaction(async (tx) => {
    const lost = await endClaims(
      tx,
      ended.map(({ id }) => id),
    );
    for (const { reference } of lost)
      logger.error({ reference }, 'a call was served and will not be paid: written off');
    await postSurely(tx, ledger, lost);
  });
}

/** By the time of a block, or by the clock on the wall. */
async function overBy(
  db: Database,
  { id: chain }: Network,
  time: bigint | undefined,
): Promise<readonly { readonly id: string; readonly validBefore: bigint }[]> {
  const { rows } = await db.query<{ id: string; valid_before: string }>(
    `SELECT id, valid_before FROM payment_claims
      WHERE chain = $1 AND asset = 'USDC' AND arrived_at IS NULL AND written_off_at IS NULL AND lapsed_at IS NULL
        AND settlement_id IS NULL AND (served_at IS NOT NULL OR prepaid)
        AND valid_before <= coalesce($2, extract(epoch FROM clock_timestamp()))
      ORDER BY valid_before LIMIT $3`,
    [chain, time ?? null, atOnce],
  );
  return rows.map(({ id, valid_before }) => ({ id, validBefore: BigInt(valid_before) }));
}
