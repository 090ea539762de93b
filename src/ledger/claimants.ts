import type { Queryable, Transaction } from '../kernel/db/database.ts';
import { type Amount, amountOf } from '../money/amount.ts';
import type { Asset, ChainId } from '../money/catalogue.ts';
import { type AccountId, accountParts, dueAccount, userAccount } from './account-id.ts';
import type { Ledger } from './ledger.ts';
import type { Posted } from './posting.ts';

interface Redemption {
  readonly claimant: Claimant;
  readonly accountId: bigint;
  /** Recorded if the account subscribed to it. */
  readonly recipientEvent?: string;
}

export type Redeemed =
  /** One posting per chain and asset; none when nothing was owed. */
  | { readonly outcome: 'redeemed'; readonly postings: readonly Posted[] }
  /** The claimant already belongs to another account. Nothing was moved. */
  | { readonly outcome: 'redeemed_by_another' };

/**
 * Moves everything owed to a claimant into the account that proved to be it, in the caller's commit, as its last
 * statement. The claimant then belongs to that account permanently: another account is refused, and the same one may
 * redeem again later. The calling feature verifies the proof.
 */
export async function redeemClaimant(tx: Transaction, ledger: Ledger, redemption: Redemption): Promise<Redeemed> {
  const { claimant, accountId } = redemption;
  const { rowCount } = await tx.query(
    `UPDATE claimants SET account_id = $2, redeemed_at = coalesce(redeemed_at, now())
      WHERE id = $1 AND (account_id IS NULL OR account_id = $2)`,
    [claimant.id, accountId],
  );
  if (rowCount === 0) return { outcome: 'redeemed_by_another' };
  // The row lock keeps out concurrent redemptions; what is credited from here on waits for the next one.
  const dues = await listDues(tx, claimant.id);
  if (dues.length === 0) return { outcome: 'redeemed', postings: [] };
  const outcomes = await ledger.postWithin(
    tx,
    dues.map((due) => toPosting(due, redemption)),
  );
  const postings = outcomes.map((outcome) => {
    if (outcome.outcome !== 'posted')
      throw new Error(`the claim of ${claimant.name} was not posted: ${outcome.outcome}`);
    return outcome.posting;
  });
  return { outcome: 'redeemed', postings };
}

function toPosting({ chain, amount }: Due, { claimant, accountId, recipientEvent }: Redemption) {
  const { asset, atomic } = amount;
  return {
    type: 'claim',
    amount,
    recipientId: accountId,
    details: { claimant: { kind: claimant.kind, name: claimant.name }, chain },
    entries: [
      { account: dueAccount(claimant.id, asset, chain), atomic: -atomic },
      { account: userAccount(accountId, asset, chain), atomic },
    ],
    ...(recipientEvent !== undefined && { recipientEvent }),
  };
}

/** A party that we know by name only. The caller normalizes the name first: two spellings are two parties. */
export interface ClaimantName {
  /** `domain`, `address` … */
  readonly kind: string;
  readonly name: string;
}

export interface Claimant extends ClaimantName {
  /** Like an account's number, from a separate range. */
  readonly id: bigint;
  /** The account that proved to be this party, and receives its payments since. Null until then. */
  readonly accountId: bigint | null;
}

const columns = 'id, kind, name, account_id';

/** Undefined when nothing was ever owed to that name. */
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
 * Gives the party a number and an empty account, unless it has them, so that a posting may credit `account`. Runs in a
 * commit of its own before the posting, so that postings do not wait for it. A party that has an account by now still
 * gets its number; pay into `claimant.accountId` instead.
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
  // A concurrent insert has committed by now.
  const claimant = rows[0] ?? (await findClaimant(db, { kind, name }));
  if (claimant === undefined) throw new Error(`the claimant ${kind} ${name} was neither opened nor found`);
  return claimant;
}

/** What we owe to one claimant in one asset on one chain. */
export interface Due {
  readonly claimant: Claimant;
  readonly chain: ChainId;
  readonly amount: Amount;
  /** The time of the last posting to it. */
  readonly changedAt: Date;
}

export async function listDues(db: Queryable, claimantId: bigint): Promise<Due[]> {
  return (await readDues(db, 'c.id = $1 ORDER BY l.id', [claimantId]))
    .map(({ due }) => due)
    .filter((due) => due !== undefined);
}

/** Everything owed to claimants, or to those of one kind, read in chunks so that memory stays bounded. */
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

/** `due` is undefined for an account that only a newer release knows. */
async function readDues(
  db: Queryable,
  condition: string,
  values: readonly unknown[],
): Promise<{ readonly account: bigint; readonly due: Due | undefined }[]> {
  const { rows } = await db.query<Claimant & { account: bigint; balance: bigint; changedAt: Date }>(
    `SELECT c.id, c.kind, c.name, c.account_id, l.id AS account, l.balance, l.posted_at AS changed_at
       FROM claimants c JOIN ledger.accounts l ON l.id >= c.id << 14 AND l.id < (c.id + 1) << 14
      WHERE l.balance > 0 AND ${condition}`,
    values,
  );
  return rows.map(({ account, balance, changedAt, ...claimant }) => {
    const parts = accountParts(Number(account) as AccountId);
    if (parts === undefined) return { account, due: undefined };
    const amount = amountOf(parts.asset, balance);
    return { account, due: { claimant, chain: parts.chain, amount, changedAt } };
  });
}
