import { crc32 } from 'node:zlib';
import type { Database, Queryable } from '../../src/kernel/db/database.ts';
import { onlyRow } from '../../src/kernel/db/database.ts';
import { toBase62 } from '../../src/kernel/ids/ids.ts';
import type { Secrets } from '../../src/kernel/secrets/secrets.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { enableMerchant } from '../../src/shopping/merchants/enable-merchant.ts';
import { findMerchant } from '../../src/shopping/merchants/find-merchant.ts';
import { demoDomain } from './shop.ts';

interface DemoMerchantParts {
  readonly db: Database;
  readonly ledger: Ledger;
  readonly secrets: Secrets;
}

const unsigned = `pa_live_${'DemoShop'.repeat(4)}`;

/** A key of the demo shop's merchant. It is public and worth nothing outside a sandbox. */
export const demoMerchantKey = unsigned + toBase62(crc32(unsigned), 6);

/**
 * The account that the demo shop is paid to, with a key that can see its sales and refund them. It is made when somebody asks for
 * it; what the shop has earned before is paid out to it. A domain that has another owner by now stays with that one.
 */
export function createDemoMerchant(parts: DemoMerchantParts): () => Promise<string> {
  let opened: Promise<void> | undefined;
  return async () => {
    opened ??= open(parts).catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    await opened;
    return demoMerchantKey;
  };
}

async function open(parts: DemoMerchantParts): Promise<void> {
  const accountId = await parts.db.transaction((tx) => insertMerchant(tx, parts.secrets));
  const owned = await findMerchant(parts.db, demoDomain);
  if (owned?.accountId != null) return;
  await enableMerchant(parts, { domain: demoDomain, accountId, ordersUrl: undefined });
}

async function insertMerchant(db: Queryable, secrets: Secrets): Promise<bigint> {
  const email = `merchant@${demoDomain}`;
  await db.query(
    `INSERT INTO accounts (handle, email, name, password_hash) VALUES ('PA-DEMOSHOP', $1, 'Demo Shop', '-') ON CONFLICT DO NOTHING`,
    [email],
  );
  const { id } = onlyRow(await db.query<{ id: bigint }>('SELECT id FROM accounts WHERE email = $1', [email]));
  await db.query(
    // The operator's secret may have been replaced since.
    `INSERT INTO api_keys (id, account_id, key_hash, name, last4, scopes)
     VALUES ('key_demo_shop', $1, $2, 'demo shop', $3, '{read,pay}')
     ON CONFLICT (id) DO UPDATE SET key_hash = excluded.key_hash`,
    [id, secrets.hash('api-keys', demoMerchantKey), demoMerchantKey.slice(-4)],
  );
  return id;
}
