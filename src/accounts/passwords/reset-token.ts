import type { Transaction } from '../../kernel/db/database.ts';
import { randomBase62 } from '../../kernel/ids/ids.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';

export const tokenMinutes = 30;

/** `pwr_` and 256 bits of chance. */
const prefix = 'pwr_';
const randomLength = 43;

export interface ResetToken {
  readonly accountId: bigint;
  /** To set the password of the account, or to take its unproved email to a new one. */
  readonly kind: 'reset' | 'claim';
}

/** A token for this account, which ends whatever token it had. The caller has locked the account. Only a keyed hash stays here. */
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

/** What a token is good for now; undefined when it is good for nothing. */
export async function findResetToken(
  db: Pick<Transaction, 'query'>,
  secrets: Secrets,
  token: string,
): Promise<ResetToken | undefined> {
  const { rows } = await db.query<ResetToken>(
    'SELECT account_id AS "accountId", kind FROM password_resets WHERE token_hash = ANY ($1) AND expires_at > now()',
    [secrets.hashes('password-resets', token)],
  );
  return rows[0];
}

/** Whether it was this token, and it is used up with the caller's commit: of two who use one at once, one does. */
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
