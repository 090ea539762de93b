import type { Queryable, Transaction } from '../../kernel/db/database.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';

/** A domain that the registry knows. Of any other domain only its own site can say whether it takes orders. */
export interface Merchant {
  readonly domain: string;
  /** Who is paid for its orders. Null until somebody has proved the domain: what it is owed then waits under its name. */
  readonly accountId: bigint | null;
  /** Disabled closes the gate, whatever the site itself says. */
  readonly state: 'enabled' | 'disabled';
  /** Where its orders are sent, signed, unless it takes them over UCP. */
  readonly ordersUrl: string | null;
}

/** By the name that `readWebsite` gives; another spelling is another domain. */
export async function findMerchant(db: Queryable, domain: string): Promise<Merchant | undefined> {
  const { rows } = await db.query<Merchant>(
    `SELECT domain, account_id AS "accountId", state, orders_url AS "ordersUrl" FROM merchants WHERE domain = $1`,
    [domain],
  );
  return rows[0];
}

/** The same, held until the caller's commit: nobody gives the domain to another account before that. */
export async function holdMerchant(tx: Transaction, domain: string): Promise<Merchant | undefined> {
  await tx.query('SELECT FROM merchants WHERE domain = $1 FOR SHARE', [domain]);
  return findMerchant(tx, domain);
}

/** The domains that an account has proved or was given, the disabled ones too: their orders are still its own. */
export async function merchantsOf(db: Queryable, accountId: bigint): Promise<string[]> {
  const { rows } = await db.query<{ domain: string }>(
    'SELECT domain FROM merchants WHERE account_id = $1 ORDER BY domain',
    [accountId],
  );
  return rows.map(({ domain }) => domain);
}

/** What orders to this domain are signed with. Undefined when it has none: then nothing can be sent to its ordersUrl. */
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
