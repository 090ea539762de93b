import type { Hex } from 'viem';
import type { Network } from '../../chains/network.ts';

export interface Cursor {
  readonly blockNumber: bigint;
  readonly blockHash: Hex;
}

/** The block that was read is no longer part of the chain, so balances as of that block cannot be asked. */
export class BlockIsGone extends Error {
  override readonly name = 'BlockIsGone';
}

export async function requireBlock({ id, client }: Network, { blockNumber, blockHash }: Cursor): Promise<void> {
  const { hash } = await client.getBlock({ blockNumber });
  if (hash !== blockHash) throw new BlockIsGone(`block ${blockNumber} of ${id} was replaced by a reorg`);
}
