import { getAddress } from 'viem';
import type { Arrival, LocatedTransfer } from '../../custody/watch/read-transfers.ts';
import type { Transaction } from '../../kernel/db/database.ts';
import { lockUntilCommit } from '../../kernel/db/locks.ts';
import { newId } from '../../kernel/ids/ids.ts';
import type { Logger } from '../../kernel/log/logger.ts';
import type { ChainId } from '../../money/catalogue.ts';
import { type OneNodeLimit, type Worth, worthAtMost } from './one-node-limit.ts';

type Placed = Pick<
  LocatedTransfer,
  'txHash' | 'position' | 'recipient' | 'asset' | 'atomic' | 'blockNumber' | 'alikeAt'
>;

type Booked = Omit<Placed, 'blockNumber' | 'alikeAt'> & { readonly id: string };

/**
 * After a reorg a transaction may emit other logs first, so its transfer gets another log position. That is the same
 * deposit, not a second one. This leaves out each transfer that matches a booked deposit of the same transaction whose
 * old position the receipt no longer shows, and marks that deposit as on the chain.
 */
async function leaveOutMoved<Transfer extends Placed>(
  tx: Transaction,
  { chain, logger }: { readonly chain: ChainId; readonly logger: Logger },
  transfers: readonly Transfer[],
): Promise<readonly Transfer[]> {
  const { rows } = await tx.query<Booked>(
    // No row lock here: other transactions lock the undecided row first and the deposit second, so this could deadlock.
    'SELECT id, tx_hash, position, address AS recipient, asset, atomic FROM deposits WHERE chain = $1 AND tx_hash = ANY ($2) ORDER BY id',
    [chain, [...new Set(transfers.map(({ txHash }) => txHash))]],
  );
  if (rows.length === 0) return transfers;
  const moved = new Map<Transfer, Booked>();
  for (const transfer of transfers) {
    const own = rows.filter(({ txHash }) => txHash === transfer.txHash);
    if (own.some(({ position }) => position === transfer.position)) continue;
    const row = own.find((one) => isGone(one, transfer) && ![...moved.values()].includes(one));
    if (row !== undefined) moved.set(transfer, row);
  }
  for (const [{ blockNumber, position, txHash }, { id, position: was }] of moved) {
    await tx.query('UPDATE deposits SET block_number = $2, vanished_at = NULL WHERE id = $1', [id, blockNumber]);
    logger.error(
      { chain, deposit: id, txHash, position, was },
      'a credited deposit has another log position in its transaction after a reorg',
    );
  }
  return transfers.filter((transfer) => !moved.has(transfer));
}

function isGone(row: Booked, { recipient, asset, atomic, alikeAt }: Placed): boolean {
  return (
    row.recipient === getAddress(recipient) &&
    row.asset === asset &&
    row.atomic === atomic &&
    alikeAt !== undefined &&
    !alikeAt.includes(row.position)
  );
}

interface Doubted {
  readonly arrival: Arrival;
  readonly because: string;
}

/**
 * Records arrivals as held. Reading the same transfer again updates its block only. If the node now shows a different
 * transfer in its place, the new one replaces it under a new id, unless the operator has released the old one: the
 * operator must release exactly what they looked at.
 */
async function holdArrivals(tx: Transaction, chain: ChainId, doubted: readonly Doubted[]): Promise<void> {
  for (const { arrival, because } of doubted) {
    const { txHash, position, blockNumber, accountId, recipient, sender, asset, atomic, proofs } = arrival;
    await tx.query(
      `DELETE FROM held_deposits WHERE (chain, tx_hash, position) = ($1, $2, $3) AND (address, asset, atomic) <> ($4, $5, $6)
          AND rejected_at IS NULL AND released_at IS NULL`,
      [chain, txHash, position, getAddress(recipient), asset, atomic],
    );
    await tx.query(
      `INSERT INTO held_deposits AS h (id, chain, tx_hash, position, block_number, account_id, address, sender, asset,
          atomic, proofs, because)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
       ON CONFLICT (chain, tx_hash, position) WHERE rejected_at IS NULL DO UPDATE SET
          block_number = excluded.block_number, account_id = excluded.account_id, sender = excluded.sender,
          proofs = excluded.proofs
        WHERE h.released_at IS NULL`,
      [
        newId('dep'),
        chain,
        txHash,
        position,
        blockNumber,
        accountId,
        getAddress(recipient),
        getAddress(sender),
        asset,
        atomic,
        proofs,
        because,
      ],
    );
  }
}

/**
 * Returns the arrivals that may be booked on the word of one node: those below the per-transfer and hourly limits. The
 * same transaction writes the rest down as held and drops what the operator has rejected. Arrivals that are already
 * booked or undecided pass, because the next step only recognises them.
 */
export async function applyOneNodeLimit(
  tx: Transaction,
  chain: ChainId,
  read: readonly Arrival[],
  { oneNodeLimit: limit, logger }: { readonly oneNodeLimit?: OneNodeLimit | undefined; readonly logger: Logger },
): Promise<readonly Arrival[]> {
  if (read.length === 0) return [];
  // The lock comes before the look-up, so that a concurrent commit's credits already count as known.
  if (limit !== undefined) await lockOneNode(tx, chain);
  const arrivals = await leaveOutMoved(tx, { chain, logger }, read);
  const standing = await findStanding(tx, chain, arrivals);
  const known = arrivals.filter((_, index) => standing[index] === 'known');
  const candidates = arrivals.filter((_, index) => standing[index] === 'new');
  if (limit === undefined || candidates.length === 0) return [...known, ...candidates];

  let sum = await believedThisHour(tx, chain);
  const believed: Arrival[] = [];
  const doubted: { readonly arrival: Arrival; readonly because: string }[] = [];
  for (const arrival of candidates) {
    const worth = worthAtMost(arrival);
    if (worth > limit.atOnce) {
      doubted.push({ arrival, because: 'a second node must confirm it' });
    } else if (sum + worth > limit.perHour) {
      doubted.push({
        arrival,
        because: 'a second node must confirm it: the hourly limit on deposits seen by one node is reached',
      });
    } else {
      sum += worth;
      believed.push({ ...arrival, oneNode: true });
    }
  }
  if (doubted.length > 0) await holdArrivals(tx, chain, doubted);
  return [...known, ...believed];
}

type Standing = 'known' | 'rejected' | 'new';

async function findStanding(tx: Transaction, chain: ChainId, arrivals: readonly Arrival[]): Promise<Standing[]> {
  const { rows } = await tx.query<{ standing: Standing }>(
    `SELECT CASE
              WHEN EXISTS (SELECT FROM deposits d WHERE (d.chain, d.tx_hash, d.position) = ($1, g.tx_hash, g.position))
                OR EXISTS (SELECT FROM undecided_arrivals u
                            WHERE (u.chain, u.tx_hash, u.position, lower(u.address), u.asset, u.atomic) =
                                  ($1, g.tx_hash, g.position, lower(g.address), g.asset, g.atomic)) THEN 'known'
              WHEN EXISTS (SELECT FROM held_deposits h WHERE h.rejected_at IS NOT NULL
                            AND (h.chain, h.tx_hash, h.position, h.address, h.asset, h.atomic) =
                                ($1, g.tx_hash, g.position, g.address, g.asset, g.atomic)) THEN 'rejected'
              ELSE 'new' END AS standing
       FROM unnest($2::text[], $3::integer[], $4::text[], $5::text[], $6::numeric[])
            WITH ORDINALITY g (tx_hash, position, address, asset, atomic, place) ORDER BY g.place`,
    [
      chain,
      arrivals.map(({ txHash }) => txHash),
      arrivals.map(({ position }) => position),
      arrivals.map(({ recipient }) => getAddress(recipient)),
      arrivals.map(({ asset }) => asset),
      arrivals.map(({ atomic }) => atomic),
    ],
  );
  return rows.map(({ standing }) => standing);
}

/**
 * One transaction at a time per chain counts against the limit. Otherwise two concurrent ones could both use the last
 * of the hour, or hold what the other has just credited.
 */
export function lockOneNode(tx: Transaction, chain: ChainId): Promise<void> {
  return lockUntilCommit(tx, { kind: 'oneNode', of: chain });
}

async function believedThisHour(tx: Transaction, chain: ChainId): Promise<Worth> {
  const { rows } = await tx.query<{ asset: Arrival['asset']; atomic: bigint }>(
    `SELECT asset, sum(atomic) AS atomic FROM (
       SELECT asset, atomic FROM deposits
        WHERE chain = $1 AND one_node AND created_at > clock_timestamp() - interval '1 hour'
       UNION ALL
       SELECT asset, atomic FROM undecided_arrivals
        WHERE chain = $1 AND one_node AND seen_at > clock_timestamp() - interval '1 hour') recent GROUP BY asset`,
    [chain],
  );
  return rows.reduce((sum, { asset, atomic }) => sum + worthAtMost({ asset, atomic }), 0n);
}
