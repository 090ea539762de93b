import { type Hex, isAddressEqual } from 'viem';
import type { ChainId } from '../chains/chains.ts';
import { findReceipt } from '../chains/find-receipt.ts';
import type { Network, Token } from '../chains/network.ts';
import type { Queryable } from '../db/database.ts';
import { inParallel } from '../in-parallel.ts';
import type { Asset } from '../money/asset.ts';
import { transferIn } from './ask-chain.ts';

/** Something that somebody said has come to a wallet of ours, and that nobody was credited with, or is any more. */
export interface DoubtedArrival {
  readonly chain: ChainId;
  readonly asset: Asset;
  /** In lower case. */
  readonly address: Hex;
  readonly txHash: Hex;
  readonly position: number;
  readonly atomic: bigint;
}

/** What is held or was rejected, and what was taken back because the chain had lost it. */
export async function readDoubted(tx: Queryable): Promise<DoubtedArrival[]> {
  const { rows } = await tx.query<Omit<DoubtedArrival, 'atomic'> & { atomic: string }>(
    `SELECT chain, asset, lower(address) AS address, tx_hash AS "txHash", position, atomic FROM held_deposits h
      WHERE NOT EXISTS (SELECT FROM deposits d WHERE (d.chain, d.tx_hash, d.position) = (h.chain, h.tx_hash, h.position))
        AND NOT EXISTS (
          SELECT FROM undecided_arrivals u WHERE (u.chain, u.tx_hash, u.position) = (h.chain, h.tx_hash, h.position))
     UNION ALL
     SELECT d.chain, d.asset, lower(d.address), d.tx_hash, d.position, d.atomic
       FROM deposit_reversals r JOIN deposits d ON d.id = r.deposit_id`,
  );
  return rows.map((row) => ({ ...row, atomic: BigInt(row.atomic) }));
}

const receiptsAtOnce = 8;

/**
 * Those of them that the chain had at a block. What is really there is in a wallet of ours and owed to nobody; what was
 * invented, or is lost, is not there, and makes no difference.
 */
export async function readShown(
  network: Network,
  token: Token,
  doubted: readonly DoubtedArrival[],
  blockNumber: bigint,
): Promise<readonly DoubtedArrival[]> {
  const asked = doubted.filter(({ chain, asset }) => chain === network.id && asset === token.asset);
  const shown = await inParallel(asked, receiptsAtOnce, async (arrival) => {
    const receipt = await findReceipt(network.client, arrival.txHash);
    if (receipt === undefined || receipt.status !== 'success' || receipt.blockNumber > blockNumber) return [];
    const transfer = transferIn(receipt.logs[arrival.position], token);
    const isThere =
      transfer !== undefined && transfer.atomic === arrival.atomic && isAddressEqual(transfer.to, arrival.address);
    return isThere ? [arrival] : [];
  });
  return shown.flat();
}
