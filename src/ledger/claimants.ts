import type { Queryable } from '../kernel/db/database.ts';
import { type Amount, amountOf } from '../money/amount.ts';
import type { Asset, ChainId } from '../money/catalogue.ts';
import { type AccountId, accountParts, dueAccount } from './account-id.ts';

/** A party that we know by a name alone. Whoever names it normalises the name first: two spellings are two parties. */
export interface ClaimantName {
  /** What the name is, in a word: `domain`, `address` … */
  readonly kind: string;
  readonly name: string;
}

export interface Claimant extends ClaimantName {
  /** Like the number of an account, from a range of its own. */
  readonly id: bigint;
  /** Whose account it has proved to be, and is paid into from then on. Null until then. */
  readonly accountId: bigint | null;
}

const columns = 'id, kind, name, account_id AS "accountId"';

/** Undefined when nobody was ever owed anything by that name. */
export async function findClaimant(db: Queryable, { kind, name }: ClaimantName): Promise<Claimant | undefined> {
  const { rows } = await db.query<Claimant>(`SELECT ${columns} FROM claimants WHERE kind = $1 AND name = $2`, [
    kind,
    name,
  ]);
  return rows[0];
}

export interface DueRequest extends ClaimantName {
  readonly asset: Asset;
  readonly chain: ChainId;
}

/**
 * Gives the party a number and an empty account, unless it has them, so that a posting may credit `account`. It is a commit
 * of its own, before the posting's: then nobody who posts waits for anybody who opens. A party that has an account here
 * by now is still answered with its number; pay into `claimant.accountId` instead.
 */
export async function openClaimant(
  db: Queryable,
  { kind, name, asset, chain }: DueRequest,
): Promise<{ readonly claimant: Claimant; readonly account: AccountId }> {
  const claimant = (await findClaimant(db, { kind, name })) ?? (await insertClaimant(db, { kind, name }));
  const account = dueAccount(claimant.id, asset, chain);
  await db.query('INSERT INTO ledger.accounts (id) VALUES ($1) ON CONFLICT DO NOTHING', [account]);
  return { claimant, account };
}

async function insertClaimant(db: Queryable, { kind, name }: ClaimantName): Promise<Claimant> {
  const { rows } = await db.query<Claimant>(
    `INSERT INTO claimants (kind, name) VALUES ($1, $2) ON CONFLICT (kind, name) DO NOTHING RETURNING ${columns}`,
    [kind, name],
  );
  // Whoever was first has committed by now.
  const claimant = rows[0] ?? (await findClaimant(db, { kind, name }));
  if (claimant === undefined) throw new Error(`the claimant ${kind} ${name} was neither opened nor found`);
  return claimant;
}

/** What is owed to one claimant in one asset on one chain. */
export interface Due {
  readonly claimant: Claimant;
  readonly chain: ChainId;
  readonly amount: Amount;
  /** When it was last added to or taken from. */
  readonly changedAt: Date;
}

/** What is owed to one claimant. */
export async function listDues(db: Queryable, claimantId: bigint): Promise<Due[]> {
  return (await readDues(db, 'c.id = $1 ORDER BY l.id', [claimantId]))
    .map(({ due }) => due)
    .filter((due) => due !== undefined);
}

/** What is owed to anybody, or to all parties of one kind: however many they are, only some are in memory at once. */
export async function* walkDues(
  db: Queryable,
  { kind, atOnce = 500 }: { readonly kind?: string; readonly atOnce?: number } = {},
): AsyncGenerator<Due> {
  let after = 0n;
  for (;;) {
    const some = await readDues(db, 'l.id > $1 AND ($2::text IS NULL OR c.kind = $2) ORDER BY l.id LIMIT $3', [
      after,
      kind ?? null,
      atOnce,
    ]);
    for (const { due } of some) if (due !== undefined) yield due;
    if (some.length < atOnce) return;
    after = some.at(-1)?.account ?? after;
  }
}

/** A due in an account that only a newer release has a name for is left to it. */
async function readDues(
  db: Queryable,
  condition: string,
  values: readonly unknown[],
): Promise<{ readonly account: bigint; readonly due: Due | undefined }[]> {
  const { rows } = await db.query<Claimant & { account: bigint; balance: string; changedAt: Date }>(
    `SELECT c.id, c.kind, c.name, c.account_id AS "accountId", l.id AS account, l.balance, l.posted_at AS "changedAt"
       FROM claimants c JOIN ledger.accounts l ON l.id >= c.id << 14 AND l.id < (c.id + 1) << 14
      WHERE l.balance > 0 AND ${condition}`,
    values,
  );
  return rows.map(({ account, balance, changedAt, ...claimant }) => {
    const parts = accountParts(Number(account) as AccountId);
    if (parts === undefined) return { account, due: undefined };
    const amount = amountOf(parts.asset, BigInt(balance));
    return { account, due: { claimant, chain: parts.chain, amount, changedAt } };
  });
}
