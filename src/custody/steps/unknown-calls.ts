import type { Hex } from 'viem';
import type { Queryable } from '../../kernel/db/database.ts';
import type { ChainId } from '../../money/catalogue.ts';

/**
 * Whether our wallets have sent a transaction, on this chain or on any, that no step explains yet. Until it is explained, an unpaid step may
 * have been paid, and an arrival may belong to a step that is not planned yet.
 */
export async function hasUnexplainedTransactions(
  db: Queryable,
  { chain }: { readonly chain?: ChainId } = {},
): Promise<boolean> {
  const { rows } = await db.query(
    'SELECT FROM unknown_transactions WHERE decided_at IS NULL AND ($1::text IS NULL OR chain = $1) LIMIT 1',
    [chain ?? null],
  );
  return rows.length > 0;
}

/**
 * The calls of a wallet to a contract that no step explains yet. After a restore from a backup a step takes its terms from there: only the
 * same bytes can be recognised as paid.
 */
export async function unexplainedCalls(
  db: Queryable,
  { chain, wallet, contract }: { readonly chain: ChainId; readonly wallet: Hex; readonly contract: Hex },
): Promise<readonly Hex[]> {
  const { rows } = await db.query<{ data: Hex }>(
    `SELECT '0x' || encode(data, 'hex') AS data FROM unknown_transactions
      WHERE chain = $1 AND lower(sender) = lower($2) AND lower(recipient) = lower($3) AND decided_at IS NULL ORDER BY nonce`,
    [chain, wallet, contract],
  );
  return rows.map(({ data }) => data);
}
