import type { ChainId } from '../chains/chains.ts';
import type { Database, Transaction } from '../db/database.ts';
import { type AccountId, accountParts } from '../ledger/account-id.ts';
import type { Asset } from '../money/asset.ts';
import type { Claim } from './build-tree.ts';
import { atOneMoment, readBooks, readCursors, readTime } from './read-position.ts';

/** What one tree is built of. */
export interface TreeClaims {
  readonly chain: ChainId;
  readonly asset: Asset;
  readonly claims: readonly Claim[];
  /** Whose claims they are, in the same order. */
  readonly accountIds: readonly bigint[];
  readonly owed: bigint;
  /** All that is owed and not to users. When the house owes less than nothing, it claims nothing. */
  readonly house: bigint;
  readonly blockNumber: bigint | null;
}

/** Everybody's claims at one moment. A chain and asset that no user has anything of is left out. */
export function readClaims(db: Database): Promise<{ readonly at: Date; readonly trees: readonly TreeClaims[] }> {
  return atOneMoment(db, async (tx) => {
    const at = await readTime(tx);
    const cursors = await readCursors(tx);
    const books = await readBooks(tx);
    const users = await readUsers(tx);
    const trees = books.flatMap(({ chain, asset, owed, users: usersOwed }) => {
      const found = users.get(`${chain}/${asset}`);
      if (found === undefined) return [];
      const house = owed > usersOwed ? owed - usersOwed : 0n;
      return [{ chain, asset, ...found, owed, house, blockNumber: cursors.get(chain)?.blockNumber ?? null }];
    });
    return { at, trees };
  });
}

interface UserClaims {
  readonly claims: Claim[];
  readonly accountIds: bigint[];
}

/** Rows that are fetched at once, so that a million accounts are never a million rows in memory. */
const rowsPerFetch = 5_000;

async function readUsers(tx: Transaction): Promise<Map<string, UserClaims>> {
  await tx.query(
    `DECLARE claims NO SCROLL CURSOR FOR
       SELECT l.id, l.balance, a.handle FROM ledger.accounts l JOIN accounts a ON a.id = l.owner_id
        WHERE l.balance > 0`,
  );
  const users = new Map<string, UserClaims>();
  for (;;) {
    const { rows } = await tx.query<{ id: bigint; balance: string; handle: string }>(
      `FETCH ${rowsPerFetch} FROM claims`,
    );
    if (rows.length === 0) return users;
    for (const { id, balance, handle } of rows) {
      const { chain, asset, ownerId } = accountParts(Number(id) as AccountId);
      if (ownerId === null) continue;
      const key = `${chain}/${asset}`;
      const found = users.get(key) ?? { claims: [], accountIds: [] };
      users.set(key, found);
      found.claims.push({ owner: handle, balance: BigInt(balance) });
      found.accountIds.push(ownerId);
    }
  }
}
