import { onlyRow, type Queryable, type Transaction } from '../kernel/db/database.ts';
import { Refusal } from '../kernel/refusal.ts';

/**
 * A public identifier of an account. An email or phone number finds its account only once it is verified. Closed
 * accounts are never found.
 */
export type AccountIdentifier = { readonly handle: string } | { readonly email: string } | { readonly phone: string };

export interface FoundAccount {
  readonly id: bigint;
  readonly handle: string;
  readonly name: string;
  /** Null while unverified: it may be someone else's. */
  readonly email: string | null;
}

const select = `
  SELECT id, handle, name, CASE WHEN email_verified_at IS NOT NULL THEN email END AS email
    FROM accounts`;

export async function findAccount(db: Queryable, by: AccountIdentifier): Promise<FoundAccount | undefined> {
  const { rows } =
    'handle' in by
      ? await db.query<FoundAccount>(`${select} WHERE handle = $1 AND closed_at IS NULL`, [by.handle])
      : 'email' in by
        ? await db.query<FoundAccount>(`${select} WHERE email = $1 AND email_verified_at IS NOT NULL`, [by.email])
        : await db.query<FoundAccount>(`${select} WHERE phone = $1`, [by.phone]);
  return rows[0];
}

/** For operator commands: by handle or email, verified or not. */
export async function findAccountId(db: Queryable, who: string): Promise<bigint> {
  const result = await db.query<{ id: bigint }>(
    'SELECT id FROM accounts WHERE handle = upper($1) OR email = lower($1)',
    [who],
  );
  if (result.rowCount === 0) throw new Refusal(`No account has the handle or email "${who}".`);
  return onlyRow(result).id;
}

/** Names of accounts, for their counterparties. */
export async function namesOf(
  db: Queryable,
  ids: readonly (bigint | null)[],
): Promise<Map<bigint, { readonly handle: string; readonly name: string }>> {
  const wanted = [...new Set(ids)].filter((id) => id !== null);
  if (wanted.length === 0) return new Map();
  const { rows } = await db.query<{ id: bigint; handle: string; name: string }>(
    'SELECT id, handle, name FROM accounts WHERE id = ANY ($1)',
    [wanted],
  );
  return new Map(rows.map(({ id, handle, name }) => [id, { handle, name }]));
}

/**
 * Why no account was found and what the recipient can do. The text is the same whether such an account exists or not,
 * so an unverified email or phone number reveals nothing.
 */
export function explainNotFound(by: AccountIdentifier): string {
  if ('handle' in by) return 'No account has this handle. Check the spelling: "PA-" followed by 8 letters or digits.';
  const [noun, message, path] = 'email' in by ? ['email', 'mail', 'email'] : ['phone number', 'SMS', 'phone'];
  return `No account has verified this ${noun}. If the recipient has an account, ask them to verify it with the code from our ${message} (POST /account/${path}/verify; POST /account/${path}/code sends a new code), or use their handle ("PA-…"), which always works.`;
}

/**
 * Whether an account is frozen. The answer holds until the commit: a freeze locks the same row, so it either waits for
 * this transaction or is seen here.
 */
export async function isFrozen(tx: Transaction, accountId: bigint): Promise<boolean> {
  const { rows } = await tx.query<{ frozen: boolean }>(
    'SELECT frozen_at IS NOT NULL AS frozen FROM accounts WHERE id = $1 FOR SHARE',
    [accountId],
  );
  return rows[0]?.frozen === true;
}
