import { getAddress } from 'viem';
import type { Arrival } from '../../custody/watch/arrival.ts';
import type { Transaction } from '../../kernel/db/database.ts';
import { newId } from '../../kernel/ids/ids.ts';
import type { ChainId } from '../../money/catalogue.ts';

interface Doubted {
  readonly arrival: Arrival;
  /** What it waits for. */
  readonly because: string;
}

/**
 * Writes down what is seen and not believed yet. Read again it is the same one, perhaps in another block. Should the node say
 * something else of it now, that counts, unless the operator has released it as it was; and it is another one, because the operator
 * may just have looked at the first and is about to release that.
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
