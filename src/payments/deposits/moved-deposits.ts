import { getAddress, type Hex } from 'viem';
import type { LocatedTransfer } from '../../custody/watch/read-transfers.ts';
import type { Transaction } from '../../kernel/db/database.ts';
import type { Logger } from '../../kernel/log/logger.ts';
import type { Asset, ChainId } from '../../money/catalogue.ts';

type Placed = Pick<
  LocatedTransfer,
  'txHash' | 'position' | 'recipient' | 'asset' | 'atomic' | 'blockNumber' | 'alikeAt'
>;

interface BookedRow {
  readonly id: string;
  readonly txHash: Hex;
  readonly position: number;
  readonly address: string;
  readonly asset: Asset;
  readonly atomic: bigint;
}

/**
 * After a reorg a transaction may emit other logs first, so its transfer gets another log position. That is the same
 * deposit, not a second one. This leaves out each transfer that matches a booked deposit of the same transaction whose
 * old position the receipt no longer shows, and marks that deposit as on the chain.
 */
export async function leaveOutMoved<Transfer extends Placed>(
  tx: Transaction,
  { chain, logger }: { readonly chain: ChainId; readonly logger: Logger },
  transfers: readonly Transfer[],
): Promise<readonly Transfer[]> {
  const { rows } = await tx.query<BookedRow>(
    // No row lock here: other transactions lock the undecided row first and the deposit second, so this could deadlock.
    'SELECT id, tx_hash, position, address, asset, atomic FROM deposits WHERE chain = $1 AND tx_hash = ANY ($2) ORDER BY id',
    [chain, [...new Set(transfers.map(({ txHash }) => txHash))]],
  );
  if (rows.length === 0) return transfers;
  const moved = new Map<Transfer, BookedRow>();
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

function isGone(row: BookedRow, { recipient, asset, atomic, alikeAt }: Placed): boolean {
  return (
    row.address === getAddress(recipient) &&
    row.asset === asset &&
    row.atomic === atomic &&
    alikeAt !== undefined &&
    !alikeAt.includes(row.position)
  );
}
