import type { Queryable } from '../../kernel/db/database.ts';

/** What an account has beside its password. Off by default. */
export interface Factors {
  /** Codes of an authenticator app. */
  readonly totp: boolean;
  readonly passkeys: number;
  readonly recoveryCodes: number;
}

export async function readFactors(db: Queryable, accountId: bigint): Promise<Factors> {
  const { rows } = await db.query<Factors>(
    `SELECT EXISTS (SELECT FROM totp_secrets WHERE account_id = $1 AND active_at IS NOT NULL) AS totp,
            (SELECT count(*)::integer FROM passkeys WHERE account_id = $1) AS passkeys,
            (SELECT count(*)::integer FROM recovery_codes WHERE account_id = $1) AS recovery_codes`,
    [accountId],
  );
  return rows[0] as Factors;
}

/** Recovery codes replace a lost factor and are none by themselves. */
export function hasSecondFactor({ totp, passkeys }: Pick<Factors, 'totp' | 'passkeys'>): boolean {
  return totp || passkeys > 0;
}
