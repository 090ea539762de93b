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
  const first = await firstEnd(db, network);
  if (first === undefined) return;
  // Its time is over by the clock on the wall, but perhaps no block says so yet.
  if (first <= BigInt(Math.floor(Date.now() / 1_000))) await network.letTimePass(first);
  const cursor = await findCursor(db, network.id);
  if (cursor === undefined || !(await isOnChain(network.client, cursor))) return;
  const { timestamp } = await network.client.getBlock({ blockNumber: cursor.number });
  const ended = await endedBy(db, network, timestamp);
  if (ended.length === 0) return;
  await db.transaction(async (tx) => {
    const lost = await endClaims(tx, ended);
    for (const { reference } of lost)
      logger.error({ reference }, 'a call was served and will not be paid: written off');
    await postSurely(tx, ledger, lost);
  });
}

/** What can still arrive and no settlement has under way. What waits for a second node to show it has arrived, perhaps. */
const waiting = `chain = $1 AND asset = 'USDC' AND arrived_at IS NULL AND written_off_at IS NULL AND lapsed_at IS NULL
  AND settlement_id IS NULL AND (served_at IS NOT NULL OR prepaid)
  AND NOT EXISTS (SELECT FROM held_deposits h WHERE h.chain = payment_claims.chain AND h.rejected_at IS NULL
    AND 'eip3009:' || token || ':' || payer || ':' || nonce = ANY (h.proofs))`;

async function firstEnd(db: Database, { id: chain }: Network): Promise<bigint | undefined> {
  const { rows } = await db.query<{ valid_before: string }>(
    `SELECT valid_before FROM payment_claims WHERE ${waiting} ORDER BY valid_before LIMIT 1`,
    [chain],
  );
  return rows[0] && BigInt(rows[0].valid_before);
}

async function endedBy(db: Database, { id: chain }: Network, blockTime: bigint): Promise<readonly string[]> {
  const { rows } = await db.query<{ id: string }>(
    `SELECT id FROM payment_claims WHERE ${waiting} AND valid_before <= $2 ORDER BY valid_before LIMIT $3`,
    [chain, blockTime, atOnce],
  );
  return rows.map(({ id }) => id);
}
