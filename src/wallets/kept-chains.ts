import { type ChainId, homeChain } from '../chains/chains.ts';
import type { Queryable } from '../db/database.ts';

/**
 * Which of these accounts keep on this chain what arrives there: all on the home chain, elsewhere those that have a
 * cross-chain wallet. For the others USDC is carried home.
 */
export async function keepersOn(
  db: Queryable,
  chain: ChainId,
  accountIds: readonly bigint[],
): Promise<ReadonlySet<bigint>> {
  if (chain === homeChain) return new Set(accountIds);
  const { rows } = await db.query<{ account_id: bigint }>(
    'SELECT account_id FROM cross_chain_wallets WHERE chain = $1 AND account_id = ANY ($2)',
    [chain, accountIds],
  );
  return new Set(rows.map(({ account_id }) => account_id));
}

/** The chains that an account keeps things on, the home chain first. */
export async function keptChains(db: Queryable, accountId: bigint): Promise<readonly ChainId[]> {
  const { rows } = await db.query<{ chain: ChainId }>(
    'SELECT chain FROM cross_chain_wallets WHERE account_id = $1 AND chain <> $2 ORDER BY created_at, chain',
    [accountId, homeChain],
  );
  return [homeChain, ...rows.map(({ chain }) => chain)];
}
