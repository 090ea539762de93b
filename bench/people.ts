import { newApiKey } from '../src/accounts/keys/api-key.ts';
import type { Database } from '../src/kernel/db/database.ts';
import { createLogger } from '../src/kernel/log/logger.ts';
import { createSecrets } from '../src/kernel/secrets/secrets.ts';
import { houseAccount, userAccount } from '../src/ledger/account-id.ts';
import { createLedger } from '../src/ledger/ledger.ts';
import { amountOf } from '../src/money/amount.ts';

/** A million USDC each: no account runs dry within a benchmark. */
export const fundedAtomic = 1_000_000_000_000n;

export interface Person {
  readonly id: bigint;
  readonly handle: string;
  readonly key: string;
}

/** For the keyed hashes of the people's API keys; the measured server is given the same. */
export const benchSecret = 'the secret of a benchmark protects nothing';

/** People with an API key and money, straight into the tables, their numbers without a gap. */
export async function createPeople(db: Database, count: number): Promise<readonly Person[]> {
  const secrets = createSecrets(benchSecret);
  const keys = Array.from({ length: count }, newApiKey);
  const { rows } = await db.query<{ id: bigint; handle: string }>(
    `INSERT INTO accounts (handle, email, name, password_hash)
       SELECT 'PA-' || lpad(i::text, 8, '0'), 'bench' || i || '@example.com', 'Bench ' || i, '-'
         FROM generate_series(1, $1::int) i RETURNING id, handle`,
    [count],
  );
  const people = rows
    .toSorted((left, right) => (left.id < right.id ? -1 : 1))
    .map(({ id, handle }, index) => ({ id, handle, key: keys[index] as string }));
  await db.query(
    `INSERT INTO api_keys (id, account_id, key_hash, name, last4)
     SELECT 'key_' || a, a, h, 'default', 'last' FROM unnest($1::bigint[], $2::bytea[]) t (a, h)`,
    [people.map(({ id }) => id), people.map(({ key }) => secrets.hash('api-keys', key))],
  );
  // One in ten has a webhook and is told of what it pays and gets.
  await db.query(
    `INSERT INTO ledger.event_subscriptions (account_id, type)
     SELECT id, type FROM unnest($1::bigint[]) id, unnest(ARRAY['payment.sent', 'payment.received']) type WHERE id % 10 = 0`,
    [people.map(({ id }) => id)],
  );
  const ledger = createLedger({ db, logger: createLogger('silent'), limits: { waiting: count } });
  await Promise.all(
    people.map(({ id }) =>
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
  return people;
}
