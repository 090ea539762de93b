import { type Hex, isAddressEqual } from 'viem';
import { findReceipt } from '../../chains/find-receipt.ts';
import type { Network, Token } from '../../chains/network.ts';
import { transferIn } from '../../chains/token-transfer.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import { inParallel } from '../../kernel/in-parallel.ts';
import type { Asset, ChainId } from '../../money/catalogue.ts';

/** An arrival at one of our wallets that is not, or no longer, credited. */
export interface UncreditedArrival {
  readonly chain: ChainId;
  readonly asset: Asset;
  /** In lower case. */
  readonly address: Hex;
  readonly txHash: Hex;
  readonly position: number;
}

/** An arrival that the chain confirms. */
export interface ShownArrival extends UncreditedArrival {
  readonly atomic: bigint;
}

/** Held and rejected deposits, and those reversed because a reorg removed them. */
export async function readUncredited(tx: Queryable): Promise<UncreditedArrival[]> {
  const { rows } = await tx.query<UncreditedArrival>(
    `SELECT DISTINCT chain, asset, lower(address) AS address, tx_hash, position FROM held_deposits h
      WHERE NOT EXISTS (SELECT FROM deposits d WHERE (d.chain, d.tx_hash, d.position) = (h.chain, h.tx_hash, h.position))
        AND NOT EXISTS (
          SELECT FROM undecided_arrivals u WHERE (u.chain, u.tx_hash, u.position) = (h.chain, h.tx_hash, h.position))
     UNION ALL
     SELECT d.chain, d.asset, lower(d.address), d.tx_hash, d.position
       FROM deposit_reversals r JOIN deposits d ON d.id = r.deposit_id`,
  );
  return rows;
}

const receiptsAtOnce = 8;

/**
 * The arrivals that the chain has at a block. Real ones are in our wallets and owed to no one; invented or lost ones
 * make no difference. The amount is the chain's, not the one reported before.
 */
export async function readShown(
  network: Network,
  token: Token,
  doubted: readonly UncreditedArrival[],
  blockNumber: bigint,
): Promise<readonly ShownArrival[]> {
  const asked = doubted.filter(({ chain, asset }) => chain === network.id && asset === token.asset);
  const shown = await inParallel(asked, receiptsAtOnce, async (arrival) => {
    const receipt = await findReceipt(network.client, arrival.txHash);
    if (receipt === undefined || receipt.status !== 'success' || receipt.blockNumber > blockNumber) return [];
    const transfer = transferIn(receipt.logs[arrival.position], token);
    if (transfer === undefined || !isAddressEqual(transfer.to, arrival.address)) return [];
    return [{ ...arrival, atomic: transfer.atomic }];
  });
  return shown.flat();
}
