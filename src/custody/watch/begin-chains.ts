import type { Network, Networks } from '../../chains/network.ts';
import type { Database } from '../../kernel/db/database.ts';
import { describeTrouble } from '../../kernel/jobs/trouble.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { type ChainId, chains } from '../../money/catalogue.ts';
import { findCursor, insertCursor } from './chain-cursor.ts';

/** The RPC serves another chain than the configured one. */
export class WrongChain extends Error {
  override readonly name = 'WrongChain';
}

export async function checkChain({ id, client }: Network): Promise<void> {
  const { chainId } = chains[id];
  const answered = await client.getChainId();
  if (answered !== chainId) {
    throw new WrongChain(`the RPC for ${id} serves chain ${answered} instead of ${chainId}; check RPC_URLS_${id}`);
  }
}

/** The newest final block. */
export async function confirmedBlock({ client, confirmations }: Network): Promise<bigint> {
  const confirmed = (await client.getBlockNumber({ cacheTime: 0 })) - BigInt(confirmations) + 1n;
  return confirmed < 0n ? 0n : confirmed;
}

/** The first reading of a chain starts with what is confirmed from now on, or with the configured block. */
export async function beginChain(db: Database, network: Network, startBlock?: bigint): Promise<void> {
  const last = startBlock === undefined ? await confirmedBlock(network) : startBlock - 1n;
  const { number, hash } = await network.client.getBlock({ blockNumber: last < 0n ? 0n : last });
  await insertCursor(db, network.id, { number, hash });
}

/**
 * At start-up, before any address is given out: records on every chain where reading begins, so that no later transfer
 * is missed, even if the chain becomes unreachable. Chains that have a cursor are not asked.
 */
export async function beginChains(
  db: Database,
  networks: Networks,
  startBlocks?: ReadonlyMap<ChainId, bigint>,
): Promise<void> {
  for (const network of networks.values()) {
    if ((await findCursor(db, network.id)) !== undefined) continue;
    try {
      await checkChain(network);
      await beginChain(db, network, startBlocks?.get(network.id));
    } catch (error) {
      throw new Refusal(
        `${chains[network.id].name} cannot be reached, and its first block must be recorded before the service starts: ${describeTrouble(error)}.`,
        { cause: error },
      );
    }
  }
}
