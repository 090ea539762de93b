import type { Network, Token } from '../../chains/network.ts';
import type { Queryable, Transaction } from '../../kernel/db/database.ts';
import { type Lock, lockUntilCommit, shareUntilCommit } from '../../kernel/db/locks.ts';
import { type ChainId, type Holding, homeChain, isHolding } from '../../money/catalogue.ts';

export type DepositToken = Token & { readonly asset: Holding };

/** The tokens that are credited when they arrive. */
export function depositTokens(network: Network): readonly DepositToken[] {
  return network.tokens.filter((token): token is DepositToken => isHolding(token.asset));
}

/**
 * Which of these accounts keep deposits on this chain: all on the home chain, elsewhere those with a cross-chain
 * wallet. For the others, USDC is brought to the home chain.
 */
export async function accountsKeepingOn(
  db: Queryable,
  chain: ChainId,
  accountIds: readonly bigint[],
): Promise<ReadonlySet<bigint>> {
  if (chain === homeChain) return new Set(accountIds);
  const { rows } = await db.query<{ accountId: bigint }>(
    'SELECT account_id FROM cross_chain_wallets WHERE chain = $1 AND account_id = ANY ($2)',
    [chain, accountIds],
  );
  return new Set(rows.map(({ accountId }) => accountId));
}

/**
 * The same, for recording deposits: until the commit no account can become a keeper there, so one that creates its
 * wallet at the same moment finds the deposit.
 */
export async function accountsKeepingUntilCommit(
  tx: Transaction,
  chain: ChainId,
  accountIds: readonly bigint[],
): Promise<ReadonlySet<bigint>> {
  if (chain !== homeChain) await shareUntilCommit(tx, lockOf(chain));
  return accountsKeepingOn(tx, chain, accountIds);
}

/** From this commit on the account keeps its deposits there. When this returns, all earlier deposits are committed. */
export async function keepDepositsOn(tx: Transaction, chain: ChainId, accountId: bigint): Promise<void> {
  const { rowCount } = await tx.query(
    'INSERT INTO cross_chain_wallets (account_id, chain) VALUES ($1, $2) ON CONFLICT DO NOTHING',
    [accountId, chain],
  );
  if (rowCount === 1) await lockUntilCommit(tx, lockOf(chain));
}

function lockOf(chain: ChainId): Lock {
  return { kind: 'crossChainWallets', of: chain };
}

/** The chains that an account keeps deposits on, home chain first. */
export async function keptChains(db: Queryable, accountId: bigint): Promise<readonly ChainId[]> {
  const { rows } = await db.query<{ chain: ChainId }>(
    'SELECT chain FROM cross_chain_wallets WHERE account_id = $1 AND chain <> $2 ORDER BY created_at, chain',
    [accountId, homeChain],
  );
  return [homeChain, ...rows.map(({ chain }) => chain)];
}
