import type { Queryable, Transaction } from '../../kernel/db/database.ts';
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
      WHERE $3::text IS NULL OR (created_at, domain) < (SELECT created_at, domain FROM own WHERE domain = $3)
      ORDER BY created_at DESC, domain DESC LIMIT $2`,
    [accountId, limit + 1, cursor ?? null],
  );
  return rows;
}

export function ordersSecretOf({ sealedSecret }: OwnMerchant, secrets: Pick<Secrets, 'open'>): string | undefined {
  return sealedSecret === null ? undefined : secrets.open('merchant-orders', sealedSecret);
}

/** A domain in the registry. For any other domain, its own site decides whether it takes orders. */
export interface Merchant {
  readonly domain: string;
  /**
   * The account that is paid for orders. Null until an account proves the domain; until then the ledger owes the money to the
   * domain's name.
   */
  readonly accountId: bigint | null;
  /** `disabled` overrides what the site says. */
  readonly state: 'enabled' | 'disabled';
  /** Signed orders are sent here unless the shop takes them over UCP. */
  readonly ordersUrl: string | null;
}

/** `domain` must be spelled as `readWebsite` returns it. */
export async function findMerchant(db: Queryable, domain: string): Promise<Merchant | undefined> {
  const { rows } = await db.query<Merchant>(
    `SELECT domain, account_id, state, orders_url FROM merchants WHERE domain = $1`,
    [domain],
  );
  return rows[0];
}

/** Finds the merchant and locks its row, so that its owner cannot change before the caller commits. */
export async function holdMerchant(tx: Transaction, domain: string): Promise<Merchant | undefined> {
  await tx.query('SELECT FROM merchants WHERE domain = $1 FOR SHARE', [domain]);
  return findMerchant(tx, domain);
}

/** Includes disabled domains, because their orders still belong to the account. */
export async function merchantsOf(db: Queryable, accountId: bigint): Promise<string[]> {
  const { rows } = await db.query<{ domain: string }>(
    'SELECT domain FROM merchants WHERE account_id = $1 ORDER BY domain',
    [accountId],
  );
  return rows.map(({ domain }) => domain);
}

/** The secret that signs orders to this domain. Without one, nothing can be sent to its ordersUrl. */
export async function unsealOrdersSecret(
  db: Queryable,
  secrets: Pick<Secrets, 'open'>,
  domain: string,
): Promise<string | undefined> {
  const { rows } = await db.query<{ sealed: Buffer | null }>(
    'SELECT sealed_orders_secret AS sealed FROM merchants WHERE domain = $1',
    [domain],
  );
  const sealed = rows[0]?.sealed ?? null;
  return sealed === null ? undefined : secrets.open('merchant-orders', sealed);
}
