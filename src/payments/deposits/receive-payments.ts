import { findPaidClaims, mayPayClaim, notePaidTogether, type PaidClaim } from '../../custody/steps/match-arrival.ts';
import type { LocatedTransfer } from '../../custody/watch/read-transfers.ts';
import type { Transaction } from '../../kernel/db/database.ts';
import type { ChainId } from '../../money/catalogue.ts';
import { applyOneNodeLimit } from './apply-one-node-limit.ts';
import { type CreditParts, creditWithin } from './credit-deposits.ts';

const paymentsPerCommit = 100;

/** Neighbours on the chain that may be payments for calls go together, everything else goes alone. The order stays. */
export function groupForCommits<Transfer extends Pick<LocatedTransfer, 'proofs'>>(
  transfers: readonly Transfer[],
): readonly (readonly Transfer[])[] {
  const groups: Transfer[][] = [];
  for (const transfer of transfers) {
    const last = groups.at(-1);
    const joins =
      last?.[0] !== undefined && last.length < paymentsPerCommit && mayPayClaim(last[0]) && mayPayClaim(transfer);
    if (joins) last.push(transfer);
    else groups.push([transfer]);
  }
  return groups;
}

/** Something in the group is known already or changes meanwhile. Nothing was written. */
class NotTogether extends Error {
  override readonly name = 'NotTogether';
}

/**
 * Books the payments for calls among these arrivals in one commit with few statements: one after the other they took
 * longer than selling the calls. Returns the arrivals that have to be received one by one, which is all of them if any
 * payment is not plainly new. Steps are not mixed in: their sagas hold locks in another order.
 */
export async function receivePaymentsTogether(
  parts: CreditParts,
  chain: ChainId,
  transfers: readonly LocatedTransfer[],
): Promise<readonly LocatedTransfer[]> {
  const paid =
    transfers.length > 1 ? await findPayments(parts, chain, transfers) : new Map<LocatedTransfer, PaidClaim>();
  if (paid.size < 2) return transfers;
  try {
    await parts.db.transaction((tx) => receiveWithin(tx, parts, chain, paid));
  } catch (error) {
    if (error instanceof NotTogether) return transfers;
    throw error;
  }
  return transfers.filter((transfer) => !paid.has(transfer));
}

/** Each claim once, even if a receipt were to prove it twice. */
async function findPayments(
  { db }: CreditParts,
  chain: ChainId,
  transfers: readonly LocatedTransfer[],
): Promise<ReadonlyMap<LocatedTransfer, PaidClaim>> {
  const found = await findPaidClaims(
    db,
    chain,
    transfers.map(({ recipient: address, ...transfer }) => ({ ...transfer, address })),
  );
  const payments = new Map<LocatedTransfer, PaidClaim>();
  const taken = new Set<string>();
  for (const [index, transfer] of transfers.entries()) {
    const claim = found[index];
    if (claim === undefined || taken.has(claim.claimId)) continue;
    taken.add(claim.claimId);
    payments.set(transfer, claim);
  }
  return payments;
}

async function receiveWithin(
  tx: Transaction,
  parts: CreditParts,
  chain: ChainId,
  paid: ReadonlyMap<LocatedTransfer, PaidClaim>,
): Promise<void> {
  const claimAt = new Map(Array.from(paid, ([transfer, claim]) => [placeOf(transfer), claim]));
  const arriving = Array.from(paid.keys(), (transfer) => ({ ...transfer, accountId: null }));
  const believed = await applyOneNodeLimit(tx, chain, arriving, parts);
  if (believed.length === 0) return;
  const arrivals = believed.map((arrival) => {
    const expected = claimAt.get(placeOf(arrival));
    if (expected === undefined) throw new NotTogether();
    return { ...arrival, expected };
  });
  const places = await enter(tx, chain, arrivals);
  const noted = await notePaidTogether(
    tx,
    arrivals.map(({ txHash, expected }) => ({ ...expected, txHash })),
  );
  if (noted !== arrivals.length) throw new NotTogether();
  if ((await creditWithin(tx, parts, chain, arrivals)) !== arrivals.length) throw new NotTogether();
  await tx.query(
    'DELETE FROM undecided_arrivals WHERE chain = $1 AND (tx_hash, position) IN (SELECT * FROM unnest($2::text[], $3::integer[]))',
    [chain, ...places],
  );
}

/**
 * As for a single arrival, the row of an undecided one makes readers of the same blocks wait for each other. It is
 * entered in one order, so that they cannot deadlock, and it is gone with the same commit.
 */
async function enter(
  tx: Transaction,
  chain: ChainId,
  arrivals: readonly Pick<
    LocatedTransfer,
    'txHash' | 'position' | 'blockNumber' | 'recipient' | 'sender' | 'asset' | 'atomic'
  >[],
): Promise<readonly [readonly string[], readonly number[]]> {
  const places = [arrivals.map(({ txHash }) => txHash), arrivals.map(({ position }) => position)] as const;
  const { rowCount } = await tx.query(
    `INSERT INTO undecided_arrivals (chain, tx_hash, position, block_number, address, sender, asset, atomic, proofs)
     SELECT $1, g.*, '{}' FROM unnest($2::text[], $3::integer[], $4::bigint[], $5::text[], $6::text[], $7::text[],
         $8::numeric[]) g (tx_hash, position, block_number, address, sender, asset, atomic) ORDER BY tx_hash, position
     ON CONFLICT DO NOTHING`,
    [
      chain,
      ...places,
      arrivals.map(({ blockNumber }) => blockNumber),
      arrivals.map(({ recipient }) => recipient),
      arrivals.map(({ sender }) => sender),
      arrivals.map(({ asset }) => asset),
      arrivals.map(({ atomic }) => atomic),
    ],
  );
  if (rowCount !== arrivals.length) throw new NotTogether();
  // After the rows are entered, which waits for a concurrent reader that may have decided.
  const { rows } = await tx.query(
    `SELECT FROM unnest($2::text[], $3::integer[]) g (tx_hash, position)
      WHERE EXISTS (SELECT FROM deposits d WHERE d.chain = $1 AND d.tx_hash = g.tx_hash AND d.position = g.position) LIMIT 1`,
    [chain, ...places],
  );
  if (rows.length > 0) throw new NotTogether();
  return places;
}

function placeOf({ txHash, position }: Pick<LocatedTransfer, 'txHash' | 'position'>): string {
  return `${txHash}:${position}`;
}
