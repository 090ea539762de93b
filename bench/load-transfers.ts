import pg from 'pg';
import { houseAccount, userAccount } from '../src/ledger/account-id.ts';
import { fundedAtomic } from './people.ts';

const amount = 1_000_000n;
const fee = 10_000n;

/** The transfers of the past have keys that were forgotten since. */
const mostKeys = 5_000_000n;

/**
 * Fills the ledger with transfers as if they had been posted one by one, idempotency keys included. In every round each
 * person sends once and receives once, so that all balances on the way are known without adding anything up. The people
 * must be fresh from createPeople and have made no transfer yet. Afterwards verifyLedger holds. With `months`, the
 * transfers are spread evenly over that many past months, each in a partition of its own; otherwise they are of now.
 */
export async function loadTransfers(
  url: string,
  owners: readonly bigint[],
  wanted: number,
  { months = 0 }: { readonly months?: number } = {},
): Promise<number> {
  const people = BigInt(owners.length);
  const rounds = BigInt(Math.ceil(wanted / owners.length));
  const count = rounds * people;
  const [first = 0n] = owners;
  if (owners.at(-1) !== first + people - 1n) throw new Error('the people must be numbered without a gap');
  if (rounds * fee + amount > fundedAtomic) throw new Error('that many transfers would cost more than people have');

  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query("SET synchronous_commit = off; SET maintenance_work_mem = '1GB'; SET work_mem = '64MB'");
  if (months > 0) await client.query(openPast(months));
  await client.query(setAside);
  await client.query(
    `CREATE TEMP TABLE start AS SELECT max(posted_at) AS at,
       greatest(1, floor(extract(epoch FROM now() - max(posted_at)) * 1000000 / $1::bigint))::bigint AS step
       FROM ledger.accounts`,
    [months > 0 ? count + 1n : 10n ** 18n],
  );
  const chunk = 1_000_000n;
  for (let from = 0n; from < count; from += chunk) {
    const to = from + chunk < count ? from + chunk : count;
    const values = [from, to - 1n, people, first];
    await client.query(postings, [...values, userAccount(first, 'USDC'), houseAccount('fees', 'USDC')]);
    if (count - from <= mostKeys) await client.query(keys, values);
  }
  await client.query(putBack);
  await client.query(
    `UPDATE ledger.accounts SET posted_at = (SELECT at + ($1::bigint + 1) * step * interval '1 microsecond' FROM start),
            balance = CASE WHEN id = $2 THEN $1::bigint * ${fee} ELSE balance - $3::bigint * ${fee} END
      WHERE id = $2 OR owner_id >= $4`,
    [count, houseAccount('fees', 'USDC'), rounds, first],
  );
  await client.query('VACUUM ANALYZE');
  await client.query('CHECKPOINT');
  await client.end();
  return Number(count);
}

/** Moves what was posted so far to the time before the months, and opens a partition for each of them. */
const openPast = (months: number) => `
  ALTER TABLE ledger.postings DETACH PARTITION ledger.postings_first;
  ALTER TABLE ledger.entry_rows DETACH PARTITION ledger.entry_rows_first;
  ALTER TABLE ledger.postings_first DISABLE TRIGGER USER;
  ALTER TABLE ledger.posting_references DISABLE TRIGGER USER;
  UPDATE ledger.postings_first SET posted_at = posted_at - interval '${months + 1} months';
  UPDATE ledger.posting_references SET posted_at = posted_at - interval '${months + 1} months';
  UPDATE ledger.accounts SET posted_at = posted_at - interval '${months + 1} months';
  ALTER TABLE ledger.postings_first ENABLE ALWAYS TRIGGER append_only;
  ALTER TABLE ledger.posting_references ENABLE ALWAYS TRIGGER posting_references_append_only;
  DO $$
  DECLARE
    month ledger.months;
    bound timestamp := date_trunc('month', now() AT TIME ZONE 'UTC') - interval '${months} months';
  BEGIN
    SELECT * INTO month FROM ledger.months WHERE name = 'first';
    UPDATE ledger.months SET to_at = bound AT TIME ZONE 'UTC' WHERE name = 'first';
    WHILE bound AT TIME ZONE 'UTC' < month.to_at LOOP
      INSERT INTO ledger.months VALUES (to_char(bound, 'YYYY_MM'), bound AT TIME ZONE 'UTC',
        (bound + interval '1 month') AT TIME ZONE 'UTC');
      EXECUTE format('CREATE TABLE ledger.%I (LIKE ledger.postings INCLUDING ALL)', 'postings_' || to_char(bound, 'YYYY_MM'));
      EXECUTE format('CREATE TABLE ledger.%I (LIKE ledger.entry_rows INCLUDING ALL)', 'entry_rows_' || to_char(bound, 'YYYY_MM'));
      bound := bound + interval '1 month';
    END LOOP;
    PERFORM ledger.attach_month(m) FROM ledger.months m WHERE m.to_at <= month.to_at;
  END $$;`;

/** Building an index at the end is many times faster than growing it. */
const setAside = `
  INSERT INTO ledger.accounts (id) VALUES (${houseAccount('fees', 'USDC')}) ON CONFLICT DO NOTHING;
  ALTER TABLE ledger.postings DROP CONSTRAINT postings_pkey, DROP CONSTRAINT postings_payer_posted_at_key,
    DROP CONSTRAINT postings_payee_posted_at_key;
  ALTER TABLE ledger.idempotency_keys DROP CONSTRAINT idempotency_keys_pkey;`;

const putBack = `
  ALTER TABLE ledger.postings ADD PRIMARY KEY (id, posted_at), ADD UNIQUE (payer, posted_at), ADD UNIQUE (payee, posted_at);
  ALTER TABLE ledger.idempotency_keys ADD PRIMARY KEY (digest);`;

/** Transfer i is the (i mod people)-th of round (i div people): who sends is its place, and who receives shifts by round. */
const transfers = `
  SELECT i, i / $3::bigint AS round, i % $3::bigint AS sender,
         (i % $3::bigint + 1 + (i / $3::bigint) % ($3::bigint - 1)) % $3::bigint AS recipient,
         s.at + (i + 1) * s.step * interval '1 microsecond' AS at,
         ('0190' || lpad(to_hex(i), 12, '0') || '8000000000000000')::uuid AS id
    FROM start s, generate_series($1::bigint, $2::bigint) i`;

const postings = `
  INSERT INTO ledger.postings (id, posted_at, type, sender_id, recipient_id, asset, amount, fee, payer, payee, fee_to,
      payer_after, payee_after, fee_after)
  SELECT id, at, 'transfer', $4::bigint + sender, $4::bigint + recipient, 1, ${amount}, ${fee},
      $5::bigint + (sender << 14), $5::bigint + (recipient << 14), $6::bigint,
      ${fundedAtomic} - round * ${fee} - ${amount} + CASE WHEN
        (sender + $3::bigint - 1 - round % ($3::bigint - 1)) % $3::bigint < sender THEN ${amount - fee} ELSE 0 END,
      ${fundedAtomic} - round * ${fee} + ${amount - fee} - CASE WHEN recipient < sender THEN ${amount} ELSE 0 END,
      (i + 1) * ${fee}
    FROM (${transfers}) t`;

const keys = `
  INSERT INTO ledger.idempotency_keys (digest, request_digest, posting_id, posted_at)
  SELECT md5('key' || i || $4::bigint)::uuid, md5(i::text)::uuid, id, at FROM (${transfers}) t`;
