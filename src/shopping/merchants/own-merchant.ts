import type { Queryable } from '../../kernel/db/database.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';
import { merchantErrors } from './errors.ts';

/** A domain as seen by the account that registered it or was assigned it. */
export interface OwnMerchant {
  readonly domain: string;
  readonly status: 'unproved' | 'enabled' | 'disabled';
  /** Null if the operator assigned the domain and the account never registered it. */
  readonly token: string | null;
  readonly ordersUrl: string | null;
  readonly sealedSecret: Buffer | null;
  readonly createdAt: Date;
  readonly provedAt: Date | null;
}

/** Owned domains are in `merchants`; domains that are only registered are in `merchant_claims`. $1 is the account. */
const select = `SELECT domain, coalesce(m.state, 'unproved') AS status, c.token,
    CASE WHEN m.domain IS NULL THEN c.orders_url ELSE m.orders_url END AS orders_url,
    CASE WHEN m.domain IS NULL THEN c.sealed_orders_secret ELSE m.sealed_orders_secret END AS sealed_secret,
    least(c.created_at, m.created_at) AS created_at, m.proved_at
  FROM (SELECT * FROM merchant_claims WHERE account_id = $1) c
  FULL JOIN (SELECT * FROM merchants WHERE account_id = $1) m USING (domain)`;

export async function findOwnMerchant(db: Queryable, accountId: bigint, domain: string): Promise<OwnMerchant> {
  const { rows } = await db.query<OwnMerchant>(`${select} WHERE domain = $2`, [accountId, domain]);
  if (rows[0] === undefined) throw merchantErrors.merchant_not_found();
  return rows[0];
}

/** Newest first. Returns one row more than `limit` if there are more. The cursor is the last domain of the previous page. */
export async function listOwnMerchants(
  db: Queryable,
  { accountId, limit, cursor }: { accountId: bigint; limit: number; cursor: string | undefined },
): Promise<OwnMerchant[]> {
  const { rows } = await db.query<OwnMerchant>(
    `WITH own AS (${select})
     SELECT * FROM own
      WHERE $3::text IS NULL OR ("createdAt", domain) < (SELECT "createdAt", domain FROM own WHERE domain = $3)
      ORDER BY "createdAt" DESC, domain DESC LIMIT $2`,
    [accountId, limit + 1, cursor ?? null],
  );
  return rows;
}

export function ordersSecretOf({ sealedSecret }: OwnMerchant, secrets: Pick<Secrets, 'open'>): string | undefined {
  return sealedSecret === null ? undefined : secrets.open('merchant-orders', sealedSecret);
}
