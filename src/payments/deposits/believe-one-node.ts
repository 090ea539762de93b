import { getAddress } from 'viem';
import type { Arrival } from '../../custody/watch/arrival.ts';
import type { Transaction } from '../../kernel/db/database.ts';
import { lockUntilCommit } from '../../kernel/db/locks.ts';
import type { Logger } from '../../kernel/log/logger.ts';
import type { ChainId } from '../../money/catalogue.ts';
import { holdArrivals } from './hold-arrivals.ts';
import { leaveOutMoved } from './moved-deposits.ts';
import { type OneNodeLimit, type Worth, worthAtMost } from './one-node-limit.ts';

/**
 * Returns the arrivals that may be booked on the word of one node: those below the per-transfer and hourly limits. The
 * same transaction writes the rest down as held and drops what the operator has rejected. Arrivals that are already
 * booked or undecided pass, because the next step only recognises them.
 */
export async function believeOneNode(
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
  return rows.reduce((sum, { asset, atomic }) => sum + worthAtMost({ asset, atomic: atomic }), 0n);
}
