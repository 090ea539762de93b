import type { Queryable, Transaction } from '../../kernel/db/database.ts';
import { type Lock, lockUntilCommit, shareUntilCommit } from '../../kernel/db/locks.ts';
import { type ChainId, homeChain } from '../../money/catalogue.ts';

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

/**
 * The same, for whoever writes down what has arrived: until that is committed nobody becomes a keeper there, so that whoever
 * makes a wallet in the same moment finds it waiting.
 */
export async function keepersUntilCommit(
  tx: Transaction,
  chain: ChainId,
  accountIds: readonly bigint[],
): Promise<ReadonlySet<bigint>> {
  if (chain !== homeChain) await shareUntilCommit(tx, lockOf(chain));
  return keepersOn(tx, chain, accountIds);
}

/** From this commit on the account keeps there what arrives. Whatever came before it is committed when this returns. */
export async function becomeKeeper(tx: Transaction, chain: ChainId, accountId: bigint): Promise<void> {
  const { rowCount } = await tx.query(
    'INSERT INTO cross_chain_wallets (account_id, chain) VALUES ($1, $2) ON CONFLICT DO NOTHING',
    [accountId, chain],
  );
  if (rowCount === 1) await lockUntilCommit(tx, lockOf(chain));
}

function lockOf(chain: ChainId): Lock {
  return { kind: 'crossChainWallets', of: chain };
}

/** The chains that an account keeps things on, the home chain first. */
export async function keptChains(db: Queryable, accountId: bigint): Promise<readonly ChainId[]> {
  const { rows } = await db.query<{ chain: ChainId }>(
    'SELECT chain FROM cross_chain_wallets WHERE account_id = $1 AND chain <> $2 ORDER BY created_at, chain',
    [accountId, homeChain],
  );
  return [homeChain, ...rows.map(({ chain }) => chain)];
}
