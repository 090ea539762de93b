import type { Queryable, Transaction } from '../../kernel/db/database.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';

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
