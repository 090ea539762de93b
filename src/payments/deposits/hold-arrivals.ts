import { getAddress } from 'viem';
import type { Arrival } from '../../custody/watch/arrival.ts';
import type { Transaction } from '../../kernel/db/database.ts';
import { newId } from '../../kernel/ids/ids.ts';
import type { ChainId } from '../../money/catalogue.ts';

interface Doubted {
  readonly arrival: Arrival;
  readonly because: string;
}

/**
 * Records arrivals as held. Reading the same transfer again updates its block only. If the node now shows a different
 * transfer in its place, the new one replaces it under a new id, unless the operator has released the old one: the
 * operator must release exactly what they looked at.
 */
export async function holdArrivals(tx: Transaction, chain: ChainId, doubted: readonly Doubted[]): Promise<void> {
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
