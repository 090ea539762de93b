import type { Network } from '../../chains/network.ts';
import type { Database } from '../../kernel/db/database.ts';
import type { Logger } from '../../kernel/log/logger.ts';
import { type Ledger, postOrThrow } from '../../ledger/ledger.ts';
import { type ClaimFate, findClaims, lastReadBlock, type ReadBlock, readClaimFates } from './claim.ts';
import { endClaims } from './end-claims.ts';

export interface EndingParts {
  readonly db: Database;
  readonly ledger: Ledger;
  readonly logger: Logger;
  readonly network: Network;
}

const atOnce = 500;
const asset = 'USDC';

/**
 * Ends expired payments: once a block read by the watcher is past their expiry and they have not arrived, they never
 * will. Payments in an open settlement are judged by that settlement.
 */
export async function endLapsed(parts: EndingParts): Promise<void> {
  const { db, network } = parts;
  const first = await firstEnd(db, network);
  if (first === undefined) return;
  // Expired by our clock, but perhaps no block says so yet.
  if (first <= BigInt(Math.floor(Date.now() / 1_000))) await network.letTimePass(first);
  const block = await lastReadBlock(db, network);
  if (block === undefined) return;
  const { rows } = await db.query<{ id: string }>(
    `SELECT id FROM payment_claims WHERE ${waiting} AND valid_before <= $3 ORDER BY valid_before LIMIT $4`,
    [network.id, asset, block.time, atOnce],
  );
  await endUnpayable(parts, block, rows);
}

/** Ends payments whose nonce was used, as of the last block read, but which have not arrived. */
export async function endUsed(parts: EndingParts, claimIds: readonly string[]): Promise<void> {
  if (claimIds.length === 0) return;
  const { db, network } = parts;
  const block = await lastReadBlock(db, network);
  if (block === undefined) return;
  const { rows } = await db.query<{ id: string }>(`SELECT id FROM payment_claims WHERE ${waiting} AND id = ANY ($3)`, [
    network.id,
    asset,
    claimIds,
  ]);
  await endUnpayable(parts, block, rows);
}

async function endUnpayable(parts: EndingParts, block: ReadBlock, found: readonly { id: string }[]): Promise<void> {
  const { db, ledger, logger, network } = parts;
  const claims = await findClaims(
    db,
    found.map(({ id }) => id),
  );
  const fates = await readClaimFates(network, asset, claims, block);
  const idsOf = (fate: ClaimFate) => claims.filter((_, index) => fates[index] === fate).map(({ id }) => id);
  const used = idsOf('used_elsewhere');
  const ended = [...used, ...idsOf('lapsed'), ...idsOf('never_shown')];
  if (ended.length === 0) return;
  await db.transaction(async (tx) => {
    const lost = await endClaims(tx, ended, { used });
    for (const { reference } of lost)
      logger.error({ reference }, 'wrote off a served call whose payment will never arrive');
    await postOrThrow(tx, ledger, lost);
  });
}

/** Can still arrive, and in no settlement. One that is held for a second node may have arrived already. */
const waiting = `chain = $1 AND asset = $2 AND arrived_at IS NULL AND written_off_at IS NULL AND lapsed_at IS NULL
  AND settlement_id IS NULL AND (served_at IS NOT NULL OR prepaid)
  AND NOT EXISTS (SELECT FROM held_deposits h WHERE h.chain = payment_claims.chain AND h.rejected_at IS NULL
    AND 'eip3009:' || token || ':' || payer || ':' || nonce = ANY (h.proofs))`;

async function firstEnd(db: Database, { id: chain }: Network): Promise<bigint | undefined> {
  const { rows } = await db.query<{ validBefore: bigint }>(
    `SELECT valid_before FROM payment_claims WHERE ${waiting} ORDER BY valid_before LIMIT 1`,
    [chain, asset],
  );
  return rows[0]?.validBefore;
}
