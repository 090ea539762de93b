import type { Network } from '../../chains/network.ts';
import type { AddressBook } from '../../custody/watch/address-book.ts';
import {
  type Arrival,
  type LocatedTransfer,
  locateTransfers,
  type TransferLog,
} from '../../custody/watch/read-transfers.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import type { ChainId } from '../../money/catalogue.ts';
import { type CreditParts, creditDeposits } from './credit-deposits.ts';
import { receiveAtHouse } from './receive-at-house.ts';

export interface BookParts extends CreditParts {
  readonly book: AddressBook;
}

/** Books each transfer once, however often it is read. */
export async function bookTransfers(
  parts: BookParts,
  chain: ChainId,
  transfers: readonly LocatedTransfer[],
): Promise<{ readonly forHouse: boolean }> {
  const { users, house } = sortArrivals(transfers, parts.book);
  await creditDeposits(parts, chain, users);
  await receiveAtHouse(parts, chain, house);
  return { forHouse: house.length > 0 };
}

/** For blocks that were read before: books, logs and returns what is missing. Only these need a receipt. */
export async function bookMissed(
  parts: BookParts,
  network: Network,
  transfers: readonly TransferLog[],
): Promise<readonly LocatedTransfer[]> {
  const unknown = await dropWrittenDown(parts.db, network.id, transfers.filter(isOurs(parts.book)));
  if (unknown.length === 0) return [];
  const missed = await locateTransfers(network, unknown);
  await bookTransfers(parts, network.id, missed);
  for (const { txHash, blockNumber, recipient, asset, atomic } of missed) {
    const fields = {
      chain: network.id,
      txHash,
      blockNumber: Number(blockNumber),
      recipient,
      asset,
      atomic: String(atomic),
    };
    parts.logger.warn(fields, 'booked a transfer that the node did not show when its block was first read');
  }
  return missed;
}

/** Transfers to users count from any sender; to the house only from outside, because our own moves earn nothing. */
function isOurs(book: AddressBook) {
  return ({ recipient, sender }: Pick<TransferLog, 'recipient' | 'sender'>): boolean => {
    const owner = book.find(recipient);
    return owner !== undefined && (owner.accountId !== null || book.find(sender) === undefined);
  };
}

function sortArrivals(
  transfers: readonly LocatedTransfer[],
  book: AddressBook,
): { readonly users: readonly Arrival[]; readonly house: readonly LocatedTransfer[] } {
  const users: Arrival[] = [];
  const house: LocatedTransfer[] = [];
  for (const transfer of transfers.filter(isOurs(book))) {
    const accountId = book.find(transfer.recipient)?.accountId ?? null;
    if (accountId === null) house.push(transfer);
    else users.push({ ...transfer, accountId });
  }
  return { users, house };
}

/**
 * Leaves out transfers already in the database as deposits, undecided or held. A transaction may pay the same amount to
 * the same wallet several times. Unless the database has all of these, none is left out.
 */
async function dropWrittenDown<Transfer extends TransferLog>(
  db: Queryable,
  chain: ChainId,
  transfers: readonly Transfer[],
): Promise<readonly Transfer[]> {
  if (transfers.length === 0) return [];
  const { rows } = await db.query<{ place: number }>(
    `WITH given AS (
       SELECT * FROM unnest($2::text[], $3::bigint[], $4::text[], $5::text[], $6::numeric[])
         WITH ORDINALITY g (tx_hash, block_number, address, asset, atomic, place)
     ), known AS (
       SELECT tx_hash, block_number, lower(address) AS address, asset, atomic, count(*) AS times FROM (
         SELECT tx_hash, position, block_number, address, asset, atomic FROM deposits
          WHERE chain = $1 AND tx_hash = ANY ($2) AND vanished_at IS NULL
         UNION
         SELECT tx_hash, position, block_number, address, asset, atomic FROM undecided_arrivals
          WHERE chain = $1 AND tx_hash = ANY ($2)
         UNION
         SELECT tx_hash, position, block_number, address, asset, atomic FROM held_deposits
          WHERE chain = $1 AND tx_hash = ANY ($2)) written
        GROUP BY 1, 2, 3, 4, 5
     )
     SELECT place::integer FROM (
       SELECT place, coalesce(k.times, 0) AS times,
              count(*) OVER (PARTITION BY tx_hash, block_number, address, asset, atomic) AS shown
         FROM given LEFT JOIN known k USING (tx_hash, block_number, address, asset, atomic)) compared
      WHERE times < shown`,
    [
      chain,
      transfers.map(({ txHash }) => txHash),
      transfers.map(({ blockNumber }) => blockNumber),
      transfers.map(({ recipient }) => recipient.toLowerCase()),
      transfers.map(({ asset }) => asset),
      transfers.map(({ atomic }) => atomic),
    ],
  );
  const missing = new Set(rows.map(({ place }) => place - 1));
  return transfers.filter((_, index) => missing.has(index));
}
