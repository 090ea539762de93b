import type { Transaction } from '../../kernel/db/database.ts';
import { randomBase62 } from '../../kernel/ids/ids.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';

export const tokenMinutes = 30;

/** `pwr_` and 256 random bits. */
const prefix = 'pwr_';
const randomLength = 43;

export interface ResetToken {
  readonly accountId: bigint;
  /** Resets the account's password, or claims its unverified email for a new account. */
  readonly kind: 'reset' | 'claim';
}

/** Issues a token and voids the previous one. The caller has locked the account. Only a keyed hash is stored. */
export async function issueResetToken(
  tx: Transaction,
  secrets: Secrets,
  { accountId, kind }: ResetToken,
): Promise<string> {
  const token = prefix + randomBase62(randomLength);
  await tx.query(
    `INSERT INTO password_resets AS r (account_id, kind, token_hash, expires_at, made, counted_from, created_at)
     VALUES ($1, $2, $3, now() + make_interval(mins => $4), 1, now(), now())
     ON CONFLICT (account_id) DO UPDATE
       SET kind = EXCLUDED.kind, token_hash = EXCLUDED.token_hash, expires_at = EXCLUDED.expires_at, created_at = now(),
           made = CASE WHEN r.counted_from > now() - interval '1 hour' THEN r.made + 1 ELSE 1 END,
           counted_from = CASE WHEN r.counted_from > now() - interval '1 hour' THEN r.counted_from ELSE now() END`,
    [accountId, kind, secrets.hash('password-resets', token), tokenMinutes],
  );
  return token;
}

/** Undefined when the token is unknown or expired. */
export async function findResetToken(
  db: Pick<Transaction, 'query'>,
  secrets: Secrets,
  token: string,
): Promise<ResetToken | undefined> {
  const { rows } = await db.query<ResetToken>(
    'SELECT account_id, kind FROM password_resets WHERE token_hash = ANY ($1) AND expires_at > now()',
    [secrets.hashes('password-resets', token)],
  );
  return rows[0];
}

/** Uses the token up in the caller's transaction. Of two concurrent uses only one returns true. */
export async function useResetToken(
  tx: Transaction,
  secrets: Secrets,
  { token, accountId, kind }: ResetToken & { readonly token: string },
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `DELETE FROM password_resets
      WHERE account_id = $1 AND kind = $2 AND token_hash = ANY ($3) AND expires_at > now()`,
    [accountId, kind, secrets.hashes('password-resets', token)],
  );
  return rowCount === 1;
}
