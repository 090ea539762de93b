import type { Network } from '../../chains/network.ts';
import { type Match, matchArrival, noteArrival, notePaid } from '../../custody/steps/match-arrival.ts';
import { findShown } from '../../custody/watch/ask-nodes.ts';
import type { Arrival, LocatedTransfer } from '../../custody/watch/read-transfers.ts';
import { type Database, onlyRow, type Queryable, type Transaction } from '../../kernel/db/database.ts';
import type { ChainId } from '../../money/catalogue.ts';
import { applyOneNodeLimit } from './apply-one-node-limit.ts';
import { type CreditParts, creditWithin } from './credit-deposits.ts';
import { groupForCommits, receivePaymentsTogether } from './receive-payments.ts';
import { reclaimSurplus } from './reclaim-surplus.ts';

/**
 * Books transfers to house wallets from outside. Each is matched with the step that expects it and posted to the
 * account that the step names. Undecided ones wait in their own table, and only the rest is surplus. Reading the same
 * blocks again changes nothing.
 */
export async function receiveAtHouse(
  parts: CreditParts,
  chain: ChainId,
  transfers: readonly LocatedTransfer[],
): Promise<void> {
  for (const some of groupForCommits(transfers)) {
    const others = await receivePaymentsTogether(parts, chain, some);
    for (const transfer of others) {
      await parts.db.transaction(async (tx) => {
        const [believed] = await applyOneNodeLimit(tx, chain, [{ ...transfer, accountId: null }], parts);
        if (believed !== undefined) await receiveWithin(tx, parts, chain, believed);
      });
    }
  }
}

/** Runs inside the caller's transaction. */
export async function receiveWithin(
  tx: Transaction,
  parts: CreditParts,
  chain: ChainId,
  { accountId: _, ...transfer }: Arrival,
  { seenAt }: { readonly seenAt?: Date } = {},
): Promise<void> {
  // A re-read keeps one_node, so that the amount counts only once against the one-node limit.
  const kept = await tx.query<{ seenAt: Date; oneNode: boolean }>(
    `INSERT INTO undecided_arrivals AS known (chain, tx_hash, position, block_number, address, sender, asset, atomic, proofs,
        one_node, seen_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, coalesce($11, now()))
     ON CONFLICT (chain, tx_hash, position) DO UPDATE SET block_number = excluded.block_number, address = excluded.address,
        sender = excluded.sender, asset = excluded.asset, atomic = excluded.atomic, proofs = excluded.proofs,
        one_node = known.one_node OR excluded.one_node
     RETURNING seen_at, one_node`,
    [
      chain,
      transfer.txHash,
      transfer.position,
      transfer.blockNumber,
      transfer.recipient,
      transfer.sender,
      transfer.asset,
      transfer.atomic,
      transfer.proofs,
      transfer.oneNode ?? false,
      seenAt ?? null,
    ],
  );
  // Checked after the upsert, which waits for a concurrent reader that may have decided.
  if (await isDecided(tx, chain, transfer)) {
    await forget(tx, chain, transfer);
    await creditWithin(tx, parts, chain, [{ ...transfer, accountId: null }]);
  } else {
    const { seenAt, oneNode } = onlyRow(kept);
    await decide(tx, parts, chain, { ...transfer, ...(oneNode && { oneNode: true }) }, seenAt);
  }
}

/** Batch size. Rows not in this batch come first in the next. */
const lookedAtOnce = 500;

/**
 * Checks undecided arrivals again and returns their number. The chain is asked only about those that can be decided
 * now, so that dust from strangers costs no requests.
 */
export async function decideArrivals(parts: CreditParts, network: Network): Promise<number> {
  const { db, logger } = parts;
  const { id: chain } = network;
  await reclaimSurplus(parts, chain);
  const undecided = await nextUndecided(db, chain);
  for (const row of undecided) {
    const arrival = toArrival(row);
    if ((await match(db, chain, arrival, row.seenAt)).is === 'undecided') continue;
    if (!(await isStillThere(network, row))) {
      logger.error({ chain, txHash: row.txHash }, 'an arrival at a house wallet is no longer on the chain');
      await forget(db, chain, arrival);
      continue;
    }
    await db.transaction(async (tx) => {
      const held = await tx.query(
        'SELECT FROM undecided_arrivals WHERE chain = $1 AND tx_hash = $2 AND position = $3 FOR UPDATE',
        [chain, row.txHash, row.position],
      );
      if (held.rows.length > 0) await decide(tx, parts, chain, arrival, row.seenAt);
    });
  }
  return undecided.length;
}

const undecidedColumns =
  'tx_hash, position, block_number, address AS recipient, sender, asset, atomic, proofs, one_node, seen_at';

async function nextUndecided(db: Database, chain: ChainId): Promise<UndecidedRow[]> {
  const { rows } = await db.query<UndecidedRow>(
    `SELECT ${undecidedColumns} FROM undecided_arrivals u
      WHERE chain = $1 AND block_number <= (SELECT c.block_number FROM chain_cursors c WHERE c.chain = u.chain)
      ORDER BY looked_at, seen_at LIMIT $2`,
    [chain, lookedAtOnce],
  );
  // The order matters only when they do not all fit into one batch.
  if (rows.length === lookedAtOnce) {
    await db.query(
      `UPDATE undecided_arrivals SET looked_at = clock_timestamp()
        WHERE chain = $1 AND (tx_hash, position) IN (SELECT * FROM unnest($2::text[], $3::integer[]))`,
      [chain, rows.map(({ txHash }) => txHash), rows.map(({ position }) => position)],
    );
  }
  return rows;
}

/** Beyond the cursor, so the arrival is not decided before it is read again. */
const unreadBlock = 2n ** 63n - 1n;

/**
 * After a reorg the blocks behind the fork are read again. Arrivals that the chain no longer shows are logged and
 * deleted; if they return, they count as new. The others wait until their new block is read.
 */
export async function recheckUndecidedAfter(parts: CreditParts, network: Network, fork: bigint): Promise<void> {
  const { db, logger } = parts;
  const { id: chain, client } = network;
  const { rows } = await db.query<UndecidedRow>(
    `UPDATE undecided_arrivals SET block_number = $3 WHERE chain = $1 AND block_number > $2
      RETURNING ${undecidedColumns}`,
    [chain, fork, unreadBlock],
  );
  for (const arrival of rows.map(toArrival)) {
    if ((await findShown(network, client, arrival))?.atomic === arrival.atomic) continue;
    logger.error({ chain, txHash: arrival.txHash }, 'an arrival at a house wallet is no longer on the chain');
    await forget(db, chain, arrival);
  }
}

type UndecidedTransfer = Omit<Arrival, 'accountId' | 'expected'>;

/** The row, its posting and the step's arrival are one commit. */
async function decide(
  tx: Transaction,
  parts: CreditParts,
  chain: ChainId,
  transfer: UndecidedTransfer,
  seenAt: Date,
): Promise<void> {
  const found = await match(tx, chain, transfer, seenAt);
  if (found.is === 'undecided') return;
  await forget(tx, chain, transfer);
  if (found.is === 'expected') await noteArrival(tx, found.stepId, { chain, asset: transfer.asset });
  if (found.is === 'paid') await notePaid(tx, found, transfer);
  const arrival: Arrival = { ...transfer, accountId: null, ...(found.is !== 'surplus' && { expected: found }) };
  await creditWithin(tx, parts, chain, [arrival]);
  if (found.is === 'surplus') await keepProofs(tx, chain, transfer);
}

/** A step that learns its proof later finds the surplus by it (`reclaim-surplus.ts`). */
async function keepProofs(tx: Transaction, chain: ChainId, transfer: UndecidedTransfer): Promise<void> {
  if (transfer.proofs.length === 0) return;
  await tx.query(
    `INSERT INTO surplus_proofs (chain, proof, deposit_id)
     SELECT $1, p.proof, d.id FROM deposits d CROSS JOIN unnest($4::text[]) p (proof)
      WHERE d.chain = $1 AND d.tx_hash = $2 AND d.position = $3 ON CONFLICT DO NOTHING`,
    [chain, transfer.txHash, transfer.position, transfer.proofs],
  );
}

function match(db: Queryable, chain: ChainId, transfer: UndecidedTransfer, seenAt: Date): Promise<Match> {
  const { txHash, recipient: address, asset, atomic, proofs } = transfer;
  return matchArrival(db, { chain, txHash, address, asset, atomic, proofs, seenAt });
}

async function forget(db: Queryable, chain: ChainId, { txHash, position }: UndecidedTransfer): Promise<void> {
  await db.query('DELETE FROM undecided_arrivals WHERE chain = $1 AND tx_hash = $2 AND position = $3', [
    chain,
    txHash,
    position,
  ]);
}

async function isDecided(tx: Transaction, chain: ChainId, { txHash, position }: UndecidedTransfer): Promise<boolean> {
  const { rows } = await tx.query('SELECT FROM deposits WHERE chain = $1 AND tx_hash = $2 AND position = $3', [
    chain,
    txHash,
    position,
  ]);
  return rows.length > 0;
}

interface UndecidedRow extends Omit<UndecidedTransfer, 'oneNode'> {
  readonly oneNode: boolean;
  readonly seenAt: Date;
}

function toArrival({ oneNode, seenAt: _, ...transfer }: UndecidedRow): UndecidedTransfer {
  return { ...transfer, ...(oneNode && { oneNode }) };
}

/** A lagging node has no receipt either, so only the block's transactions prove it; without the block this throws. */
async function isStillThere({ client }: Network, { txHash: hash, blockNumber }: UndecidedRow): Promise<boolean> {
  const { transactions } = await client.getBlock({ blockNumber });
  if (!transactions.includes(hash)) return false;
  return (await client.getTransactionReceipt({ hash })).status === 'success';
}
