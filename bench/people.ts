import type { Database } from '../src/db/database.ts';
import { houseAccount, userAccount } from '../src/ledger/account-id.ts';
import { createLedger } from '../src/ledger/ledger.ts';
import { createLogger } from '../src/logger.ts';
import { amountOf } from '../src/money/amount.ts';

/** A million USDC each: nobody runs dry within a benchmark. */
export const fundedAtomic = 1_000_000_000_000n;

/** People with an API key and money, straight into the tables, their numbers without a gap. */
export async function createPeople(db: Database, count: number): Promise<readonly bigint[]> {
  const { rows } = await db.query<{ id: bigint }>(
    `WITH people AS (
       INSERT INTO accounts (handle, email, name, password_hash)
         SELECT 'PA-' || lpad(i::text, 8, '0'), 'bench' || i || '@example.com', 'Bench ' || i, '-'
           FROM generate_series(1, $1::int) i RETURNING id)
     INSERT INTO api_keys (id, account_id, key_hash)
       SELECT 'key_' || id, id, decode(md5(id::text), 'hex') FROM people RETURNING account_id AS id`,
    [count],
  );
  const owners = rows.map(({ id }) => id).toSorted((left, right) => (left < right ? -1 : 1));
  const ledger = createLedger({ db, logger: createLogger('silent'), limits: { waiting: count } });
  await Promise.all(
    owners.map((id) =>
      ledger.post({
        type: 'deposit',
        amount: amountOf('USDC', fundedAtomic),
        recipientId: id,
        reference: `deposit:bench:${id}`,
        entries: [
          { account: houseAccount('custody', 'USDC'), atomic: -fundedAtomic },
          { account: userAccount(id, 'USDC'), atomic: fundedAtomic },
        ],
      }),
    ),
  );
  await ledger.stop();
  await db.query('VACUUM ANALYZE');
  return owners;
}
