import pg from 'pg';
import { houseAccount, userAccount } from '../src/ledger/account-id.ts';
import { fundedAtomic } from './people.ts';

const amount = 1_000_000n;
const fee = 10_000n;

/**
 * Fills the ledger with transfers as if they had been posted one by one, idempotency keys included. In every round each
 * person sends once and receives once, so that all balances on the way are known without adding anything up. The people
 * must be fresh from createPeople and have made no transfer yet. Afterwards verifyLedger holds.
 */
export async function loadTransfers(url: string, owners: readonly bigint[], wanted: number): Promise<number> {
  const people = BigInt(owners.length);
  const rounds = BigInt(Math.ceil(wanted / owners.length));
  const count = rounds * people;
  const [first = 0n] = owners;
  if (owners.at(-1) !== first + people - 1n) throw new Error('the people must be numbered without a gap');
  if (rounds * fee + amount > fundedAtomic) throw new Error('that many transfers would cost more than people have');

  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query("SET synchronous_commit = off; SET maintenance_work_mem = '512MB'; SET work_mem = '64MB'");
  await client.query(setAside);
  await client.query('CREATE TEMP TABLE start AS SELECT max(posted_at) AS at FROM ledger.accounts');
  const chunk = 1_000_000n;
  for (let from = 0n; from < count; from += chunk) {
    const to = from + chunk < count ? from + chunk : count;
    const values = [from, to - 1n, people, first, userAccount(first, 'USDC')];
    await client.query(postings, values.slice(0, 4));
    await client.query(entries, [...values, houseAccount('fees', 'USDC')]);
    await client.query(keys, values.slice(0, 4));
  }
  await client.query(putBack);
  await client.query(
    `UPDATE ledger.accounts SET posted_at = (SELECT at FROM start) + $1::bigint * interval '1 microsecond',
            balance = CASE WHEN id = $2 THEN $1::bigint * ${fee} ELSE balance - $3::bigint * ${fee} END
      WHERE id = $2 OR owner_id >= $4`,
    [count, houseAccount('fees', 'USDC'), rounds, first],
  );
  await client.query('VACUUM ANALYZE');
  await client.query('CHECKPOINT');
  await client.end();
  return Number(count);
}

/** Building an index at the end is many times faster than growing it; the trigger would hold a million rows in memory. */
const setAside = `
  INSERT INTO ledger.accounts (id) VALUES (${houseAccount('fees', 'USDC')}) ON CONFLICT DO NOTHING;
  ALTER TABLE ledger.entries DISABLE TRIGGER entries_balance;
  ALTER TABLE ledger.entries DROP CONSTRAINT entries_pkey;
  ALTER TABLE ledger.postings DROP CONSTRAINT postings_pkey;
  ALTER TABLE ledger.idempotency_keys DROP CONSTRAINT idempotency_keys_pkey;`;

const putBack = `
  ALTER TABLE ledger.entries ADD PRIMARY KEY (account_id, posted_at);
  ALTER TABLE ledger.postings ADD PRIMARY KEY (id);
  ALTER TABLE ledger.idempotency_keys ADD PRIMARY KEY (digest);
  ALTER TABLE ledger.entries ENABLE ALWAYS TRIGGER entries_balance;`;

/** Transfer i is the (i mod people)-th of round (i div people): who sends is its place, and who receives shifts by round. */
const transfers = `
  SELECT i, i / $3::bigint AS round, i % $3::bigint AS sender,
         (i % $3::bigint + 1 + (i / $3::bigint) % ($3::bigint - 1)) % $3::bigint AS recipient,
         (SELECT at FROM start) + (i + 1) * interval '1 microsecond' AS at,
         ('0190' || lpad(to_hex(i), 12, '0') || '8000000000000000')::uuid AS id
    FROM generate_series($1::bigint, $2::bigint) i`;

const postings = `
  INSERT INTO ledger.postings (id, posted_at, type, sender_id, recipient_id, asset, amount, fee)
  SELECT id, at, 'transfer', $4::bigint + sender, $4::bigint + recipient, 1, ${amount}, ${fee} FROM (${transfers}) t`;

const entries = `
  INSERT INTO ledger.entries (account_id, posted_at, posting_id, amount, balance_after)
  SELECT e.account_id, t.at, t.id, e.amount, e.balance_after
    FROM (${transfers}) t
   CROSS JOIN LATERAL (VALUES
     ($5::bigint + (t.sender << 14), -${amount},
      ${fundedAtomic} - t.round * ${fee} - ${amount} + CASE WHEN
        (t.sender + $3::bigint - 1 - t.round % ($3::bigint - 1)) % $3::bigint < t.sender THEN ${amount - fee} ELSE 0 END),
     ($5::bigint + (t.recipient << 14), ${amount - fee},
      ${fundedAtomic} - t.round * ${fee} + ${amount - fee} - CASE WHEN t.recipient < t.sender THEN ${amount} ELSE 0 END),
     ($6::bigint, ${fee}, (t.i + 1) * ${fee})) e (account_id, amount, balance_after)
   WHERE $4::bigint > 0`;

const keys = `
  INSERT INTO ledger.idempotency_keys (digest, request_digest, posting_id, posted_at)
  SELECT md5('key' || i || $4::bigint)::uuid, md5(i::text)::uuid, id, at FROM (${transfers}) t`;
