import { getAddress } from 'viem';
import type { ChainId } from '../chains/chains.ts';
import type { Transaction } from '../db/database.ts';
import { newId } from '../ids.ts';
import type { Arrival } from './arrival.ts';

interface Doubted {
  readonly arrival: Arrival;
  /** What it waits for. */
  readonly because: string;
}

/**
 * Writes down what is seen and not believed yet. Read again it is the same one, perhaps in another block; should the node say
 * something else of it now, that counts, unless the operator has released it as it was.
 */
export async function holdArrivals(tx: Transaction, chain: ChainId, doubted: readonly Doubted[]): Promise<void> {
  for (const { arrival, because } of doubted) {
    const { txHash, position, blockNumber, accountId, recipient, sender, asset, atomic, proofs } = arrival;
    await tx.query(
      `INSERT INTO held_deposits AS h (id, chain, tx_hash, position, block_number, account_id, address, sender, asset,
          atomic, proofs, because)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
       ON CONFLICT (chain, tx_hash, position) WHERE rejected_at IS NULL DO UPDATE SET
          block_number = excluded.block_number, account_id = excluded.account_id, address = excluded.address,
          sender = excluded.sender, asset = excluded.asset, atomic = excluded.atomic, proofs = excluded.proofs
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
