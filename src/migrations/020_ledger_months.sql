-- The ledger by months: a common posting is one row, postings and entries are in partitions by time, and fees are credited
-- in slots.
-- serves_from: 16

-- In the order in which postings take them, so that none of them and this migration wait for each other.
LOCK TABLE ledger.accounts, ledger.posting_references, ledger.postings, ledger.entries IN ACCESS EXCLUSIVE MODE;
DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_partitioned_table WHERE partrelid IN ('ledger.postings'::regclass, 'ledger.entries'::regclass)) THEN
    RAISE EXCEPTION 'ledger.postings or ledger.entries is partitioned by hand: put plain tables with the same rows in their places first, this release makes its own partitions';
  END IF;
END $$;

-- Every transfer credits the house's account for fees, so a single row of it would put all batches in line. The account is
-- kept in sixteen rows: itself, and fifteen slots that have the owners -1 to -15. A batch credits one of them. What is taken
-- from the account is gathered first (src/ledger/fee-slots.ts).
CREATE OR REPLACE FUNCTION ledger.owner_of(account_id bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN CASE WHEN account_id >= 16384 THEN account_id >> 14 END;

-- All rows that an account is kept in, itself first.
CREATE FUNCTION ledger.slots_of(account_id bigint) RETURNS bigint[] LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN
  CASE WHEN account_id >> 8 = 16 THEN ARRAY(SELECT account_id - (slot << 14) FROM generate_series(0::bigint, 15) slot)
       ELSE ARRAY[account_id] END;

CREATE OR REPLACE FUNCTION ledger.open_account() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  owner CONSTANT bigint := ledger.owner_of(NEW.id);
  is_claimant CONSTANT boolean := coalesce(owner >= 274877906944, false);
BEGIN
  NEW.owner_id := CASE WHEN is_claimant THEN NULL ELSE owner END;
  NEW.claimant_id := CASE WHEN is_claimant THEN owner END;
  IF NEW.balance <> 0
    OR (owner IS NULL) <> (ledger.kind_of(NEW.id) >= 16)
    OR is_claimant <> (ledger.kind_of(NEW.id) = 2)
    OR (NEW.id < 0 AND (NEW.id >> 14 < -15 OR ledger.kind_of(NEW.id) <> 16))
    OR NOT EXISTS (SELECT FROM ledger.kinds WHERE code = ledger.kind_of(NEW.id))
    OR NOT EXISTS (SELECT FROM ledger.chains WHERE code = ledger.chain_of(NEW.id))
    OR NOT EXISTS (SELECT FROM ledger.assets WHERE code = ledger.asset_of(NEW.id))
  THEN
    RAISE EXCEPTION 'ledger account % cannot be: no such kind, chain or asset, or it is not empty', NEW.id
      USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $$;

-- The months of postings and entries. Their partitions are ledger.postings_<name> and ledger.entry_rows_<name>.
CREATE TABLE ledger.months (
  name    text PRIMARY KEY,
  from_at timestamptz NOT NULL UNIQUE,
  to_at   timestamptz NOT NULL UNIQUE CHECK (to_at > from_at)
);

-- Everything so far becomes the first partition, up to the end of this month. Times only rise, so a clock that was ahead of
-- the month once counts, too.
INSERT INTO ledger.months (name, from_at, to_at)
  SELECT 'first', '-infinity', (date_trunc('month', at AT TIME ZONE 'UTC') + interval '1 month') AT TIME ZONE 'UTC'
    FROM (SELECT greatest(now(), (SELECT max(posted_at) FROM ledger.accounts)) AS at) latest;

-- Where one account pays another, with or without a fee, the effect of a posting is on its own row: `payer` pays `amount`,
-- `fee_to` gets `fee`, and `payee` the rest. Such a row is balanced whatever it says, as long as all its accounts are of one
-- asset on one chain. Any other posting has rows in ledger.entry_rows. ledger.entries shows both alike.
--
-- Every key contains the time, which decides the partition. So the key of postings does not keep an id from being used at
-- two times. Whoever gives an id gives a new one, or a reference with it, which is unique; verifyLedger proves it.
ALTER TABLE ledger.postings RENAME TO postings_first;
ALTER TABLE ledger.postings_first
  ADD COLUMN payer bigint,
  ADD COLUMN payee bigint,
  ADD COLUMN fee_to bigint,
  -- The balances that the posting left.
  ADD COLUMN payer_after numeric,
  ADD COLUMN payee_after numeric,
  ADD COLUMN fee_after numeric,
  DROP CONSTRAINT postings_pkey,
  ADD CONSTRAINT postings_first_pkey PRIMARY KEY (id, posted_at),
  ADD CONSTRAINT postings_first_by_payer UNIQUE (payer, posted_at),
  ADD CONSTRAINT postings_first_by_payee UNIQUE (payee, posted_at),
  ADD CONSTRAINT postings_balanced CHECK ((
    payer IS NULL AND payee IS NULL AND fee_to IS NULL
    OR payer <> payee AND (payer # payee) & 255 = 0 AND payer & 15 = asset AND amount > fee
      AND payer_after IS NOT NULL AND payee_after IS NOT NULL
      AND (fee = 0 AND fee_to IS NULL
           OR fee > 0 AND fee_to < 16384 AND payer <> fee_to AND payee <> fee_to AND (payer # fee_to) & 255 = 0
             AND fee_after IS NOT NULL)
  ) IS TRUE);
CREATE TABLE ledger.postings (LIKE ledger.postings_first INCLUDING ALL) PARTITION BY RANGE (posted_at);

ALTER TABLE ledger.entries RENAME TO entry_rows_first;
ALTER TABLE ledger.entry_rows_first RENAME CONSTRAINT entries_pkey TO entry_rows_first_pkey;
CREATE TABLE ledger.entry_rows (LIKE ledger.entry_rows_first INCLUDING ALL) PARTITION BY RANGE (posted_at);

CREATE FUNCTION ledger.attach_month(month ledger.months) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET datestyle = 'ISO'
AS $$
DECLARE
  bounds CONSTANT text := format('FOR VALUES FROM (%s) TO (%L)',
    CASE WHEN month.from_at = '-infinity' THEN 'MINVALUE' ELSE quote_literal(month.from_at) END, month.to_at);
BEGIN
  EXECUTE format('ALTER TABLE ledger.postings ATTACH PARTITION ledger.%I %s', 'postings_' || month.name, bounds);
  EXECUTE format('ALTER TABLE ledger.entry_rows ATTACH PARTITION ledger.%I %s', 'entry_rows_' || month.name, bounds);
END $$;

-- The triggers of a table do not fire for a statement that names one of its partitions, so each has its own. They fire also
-- for a session that has disabled ordinary triggers.
CREATE FUNCTION ledger.guard_rows(name text) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  EXECUTE format('CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger.%I
    FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change()', name);
  EXECUTE format('ALTER TABLE ledger.%I ENABLE ALWAYS TRIGGER append_only', name);
  IF name LIKE 'entry\_rows%' THEN
    EXECUTE format('CREATE TRIGGER balance AFTER INSERT ON ledger.%I REFERENCING NEW TABLE AS added
      FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_unbalanced()', name);
    EXECUTE format('ALTER TABLE ledger.%I ENABLE ALWAYS TRIGGER balance', name);
  END IF;
END $$;

DROP TRIGGER postings_append_only ON ledger.postings_first;
DROP TRIGGER entries_append_only ON ledger.entry_rows_first;
DROP TRIGGER entries_balance ON ledger.entry_rows_first;
SELECT ledger.guard_rows(name) FROM unnest('{postings,entry_rows,postings_first,entry_rows_first}'::text[]) name;
SELECT ledger.attach_month(m) FROM ledger.months m;

-- Opens the months that are missing up to the end of the next one. The service's role owns no table, so this runs as the
-- role that does. An attached partition, unlike a created one, locks out neither postings nor readers.
CREATE FUNCTION ledger.open_months() RETURNS integer LANGUAGE plpgsql SECURITY DEFINER
-- Whatever the caller has set: one can redefine UTC.
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET datestyle = 'ISO'
AS $$
DECLARE
  month ledger.months;
  opened integer := 0;
BEGIN
  LOCK TABLE ledger.months IN SHARE ROW EXCLUSIVE MODE;
  LOOP
    SELECT to_char(max(m.to_at) AT TIME ZONE 'UTC', 'YYYY_MM'), max(m.to_at),
           (max(m.to_at) AT TIME ZONE 'UTC' + interval '1 month') AT TIME ZONE 'UTC' INTO month FROM ledger.months m;
    EXIT WHEN month.from_at >= (date_trunc('month', now() AT TIME ZONE 'UTC') + interval '2 months') AT TIME ZONE 'UTC';
    INSERT INTO ledger.months VALUES (month.*);
    EXECUTE format('CREATE TABLE ledger.%I (LIKE ledger.postings INCLUDING ALL)', 'postings_' || month.name);
    EXECUTE format('CREATE TABLE ledger.%I (LIKE ledger.entry_rows INCLUDING ALL)', 'entry_rows_' || month.name);
    PERFORM ledger.guard_rows('postings_' || month.name), ledger.guard_rows('entry_rows_' || month.name);
    PERFORM ledger.attach_month(month);
    opened := opened + 1;
  END LOOP;
  RETURN opened;
END $$;
SELECT ledger.open_months();

-- What postings did to the accounts of owners, and to all of the house but its fees. Along one account the times rise strictly.
CREATE VIEW ledger.account_entries AS
  SELECT legs.* FROM (
    SELECT account_id, posted_at, posting_id, amount, balance_after FROM ledger.entry_rows
    UNION ALL
    SELECT payer, posted_at, id, -amount, payer_after FROM ledger.postings
    UNION ALL
    SELECT payee, posted_at, id, amount - fee, payee_after FROM ledger.postings
  ) legs
  -- Out here, because a condition of its own would keep the planner from reading a table in the order of its index.
  WHERE legs.account_id IS NOT NULL;

-- What every posting did to each of its accounts. The fees have no index, which would cost every transfer more than the few
-- readers of that account gain.
CREATE VIEW ledger.entries AS
  SELECT account_id, posted_at, posting_id, amount, balance_after FROM ledger.account_entries
  UNION ALL
  SELECT f.id, p.posted_at, p.id, p.fee, p.fee_after
    FROM ledger.accounts f JOIN ledger.postings p ON p.fee_to = f.id WHERE f.id < 16384;

-- Whoever could use the former tables can use these, before `migrate` has granted anything: a service of an earlier release
-- goes on posting meanwhile.
DO $$
DECLARE
  given record;
BEGIN
  FOR given IN
    SELECT DISTINCT pg_get_userbyid(a.grantee) AS role FROM pg_class c, aclexplode(c.relacl) a
     WHERE c.oid IN ('ledger.postings_first'::regclass, 'ledger.entry_rows_first'::regclass)
       AND a.privilege_type = 'INSERT' AND a.grantee NOT IN (0, c.relowner)
  LOOP
    EXECUTE format('GRANT SELECT, INSERT ON ledger.postings, ledger.entry_rows TO %I', given.role);
    EXECUTE format('GRANT SELECT ON ledger.entries, ledger.account_entries, ledger.months TO %I', given.role);
    EXECUTE format('REVOKE ALL ON ledger.postings_first, ledger.entry_rows_first FROM %I', given.role);
  END LOOP;
END $$;

-- How many postings of a type an account has in a stretch of time, both ends included, and what they sum to.
CREATE FUNCTION ledger.gather(account bigint, of_type text, from_at timestamptz, to_at timestamptz, OUT count integer, OUT change numeric)
LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
  SELECT count(*)::integer, sum(e.amount) INTO count, change
    FROM ledger.account_entries e JOIN ledger.postings p ON p.id = e.posting_id AND p.posted_at = e.posted_at
   WHERE e.account_id = account AND e.posted_at >= from_at AND e.posted_at <= to_at AND p.type = of_type;
END $$;

-- Whether an account has another posting of a type after one moment and before another.
CREATE FUNCTION ledger.comes_again(account bigint, of_type text, after_at timestamptz, before_at timestamptz) RETURNS boolean
LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
  RETURN EXISTS (
    SELECT FROM (SELECT * FROM ledger.account_entries e
                  WHERE e.account_id = account AND e.posted_at > after_at AND e.posted_at < before_at
                  ORDER BY e.posted_at OFFSET 0) e
     CROSS JOIN LATERAL (SELECT p.type FROM ledger.postings p
                          WHERE p.id = e.posting_id AND p.posted_at = e.posted_at OFFSET 0) p
     WHERE p.type = of_type);
END $$;

-- A page of an owner's history: the entries that precede a place, newest first (src/ledger/history.ts). Each account is read
-- backwards through its indexes and yields at most one page; the pages are then merged. It is a function, because planning the
-- query for many months takes longer than answering it: here it is planned once for each connection.
CREATE FUNCTION ledger.history(
  first bigint, past bigint, before_at timestamptz, before_account bigint, only_accounts bigint[], only_types text[],
  gathered_types text[], kinds bigint[], chains bigint[], assets bigint[], most integer, look_at integer
) RETURNS TABLE (
  account_id bigint, at_us bigint, change numeric, balance_after numeric, posting_id uuid, type text, sender_id bigint,
  recipient_id bigint, asset integer, amount numeric, fee numeric, description text, reference text, details jsonb,
  gathered integer, gathered_change numeric
) LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
    SELECT h.account_id, (extract(epoch FROM h.posted_at) * 1000000)::bigint, h.change, h.balance_after, h.id, h.type, h.sender_id,
           h.recipient_id, h.asset::integer, h.amount, h.fee, h.description, h.reference, h.details, g.count, g.change
      FROM ledger.accounts a
     CROSS JOIN LATERAL (
       SELECT e.account_id, e.posted_at, e.amount AS change, e.balance_after, p.*
         FROM (SELECT * FROM ledger.account_entries e
                WHERE e.account_id = a.id AND e.posted_at <= before_at
                  AND (e.posted_at, e.account_id) < (before_at, before_account)
                ORDER BY e.posted_at DESC LIMIT look_at) e
        CROSS JOIN LATERAL (
          SELECT p.id, p.type, p.sender_id, p.recipient_id, p.asset, p.amount, p.fee, p.description, p.reference, p.details
            FROM ledger.postings p WHERE p.id = e.posting_id AND p.posted_at = e.posted_at OFFSET 0) p
        WHERE (only_types IS NULL OR p.type = ANY (only_types))
          -- The last gathered entry of an hour stands for the whole hour, even when earlier ones are on another page.
          AND NOT (p.type = ANY (gathered_types) AND ledger.comes_again(e.account_id, p.type, e.posted_at,
            date_trunc('hour', e.posted_at, 'UTC') + interval '1 hour'))
        ORDER BY e.posted_at DESC LIMIT most) h
      LEFT JOIN LATERAL (
        SELECT * FROM ledger.gather(h.account_id, h.type, date_trunc('hour', h.posted_at, 'UTC'), h.posted_at)
         WHERE h.type = ANY (gathered_types) OFFSET 0) g ON true
     WHERE a.id >= first AND a.id < past AND (only_accounts IS NULL OR a.id = ANY (only_accounts))
       AND ledger.kind_of(a.id) = ANY (kinds) AND ledger.chain_of(a.id) = ANY (chains) AND ledger.asset_of(a.id) = ANY (assets)
     ORDER BY h.posted_at DESC, h.account_id DESC LIMIT most;
END $$;

-- The last entry that a page of a history has read when it stopped at `look_at` entries of an account before it was full. With
-- several accounts it is the newest of their last entries: below it, not every account has been read.
CREATE FUNCTION ledger.looked_to(
  first bigint, past bigint, before_at timestamptz, before_account bigint, only_accounts bigint[], down_to timestamptz,
  look_at integer
) RETURNS TABLE (account_id bigint, at_us bigint) LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
    SELECT a.id, (extract(epoch FROM e.posted_at) * 1000000)::bigint
      FROM ledger.accounts a
     CROSS JOIN LATERAL (
       SELECT e.posted_at FROM ledger.account_entries e
        WHERE e.account_id = a.id AND e.posted_at <= before_at AND e.posted_at >= down_to
          AND (e.posted_at, e.account_id) < (before_at, before_account)
        ORDER BY e.posted_at DESC OFFSET look_at - 1 LIMIT 1) e
     WHERE a.id >= first AND a.id < past AND (only_accounts IS NULL OR a.id = ANY (only_accounts))
     ORDER BY e.posted_at DESC, a.id DESC LIMIT 1;
END $$;

-- The time of a posting tells its partition.
ALTER TABLE ledger.posting_references DISABLE TRIGGER posting_references_append_only;
ALTER TABLE ledger.posting_references ADD COLUMN posted_at timestamptz;
UPDATE ledger.posting_references r SET posted_at = p.posted_at FROM ledger.postings p WHERE p.id = r.posting_id;
ALTER TABLE ledger.posting_references ENABLE ALWAYS TRIGGER posting_references_append_only;

-- The first posting, for answering a duplicate. Its batch was posted at `since`, and each of a batch is a microsecond later
-- than the one before.
CREATE FUNCTION ledger.describe(place integer, posting uuid, since timestamptz) RETURNS jsonb LANGUAGE sql STABLE AS $$
  SELECT jsonb_build_object('place', place, 'id', p.id, 'postedAt', p.posted_at, 'type', p.type,
      'senderId', p.sender_id::text, 'recipientId', p.recipient_id::text, 'asset', p.asset,
      'amount', p.amount::text, 'fee', p.fee::text, 'description', p.description, 'reference', p.reference,
      'details', p.details)
    FROM ledger.postings p
   WHERE p.id = posting AND p.posted_at >= since AND p.posted_at < since + interval '1 second';
$$;

-- Removes waiting events from `since` on, oldest first, and returns them. It is a function for the sake of its plan: the table
-- is nearly empty whenever it is analysed, and full of removed rows in between. An event whose posting is in an asset that only
-- a newer release knows waits for that release.
CREATE FUNCTION ledger.take_events(most integer, since uuid, assets bigint[])
RETURNS TABLE (id uuid, account_id bigint, type text, created_at timestamptz, data jsonb, posting jsonb) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
    WITH taken AS (
      DELETE FROM ledger.events d WHERE d.id = ANY (ARRAY(
        SELECT e.id FROM ledger.events e
         WHERE e.id >= since AND (e.posting_id IS NULL OR EXISTS (
           SELECT FROM ledger.postings p
            WHERE p.id = e.posting_id AND p.posted_at = e.created_at AND p.asset = ANY (assets)))
         ORDER BY e.id LIMIT most FOR UPDATE OF e SKIP LOCKED))
      RETURNING d.*)
    SELECT t.id, t.account_id, t.type, t.created_at, t.data,
           CASE WHEN t.posting_id IS NOT NULL THEN ledger.describe(0, t.posting_id, t.created_at) END
      FROM taken t ORDER BY t.id;
END $$;

-- Posts a batch: every posting is checked in order, against the balances that the ones before it have left, and gets one
-- letter in `outcomes`:
--   P posted   I insufficient balance   U unknown account   F frozen account   K key revoked or expired   D duplicate   M mismatch
-- `first_at` + n microseconds is the time of the n-th posting, counted from zero. `earlier` describes the first posting of
-- each duplicate.
--
-- A payment made with a key to a closed account is refused like one to an unknown account. A deposit or the refund of an
-- order is credited, because the money belongs to the account. A key's expiry for lack of use is not checked here: posting
-- with a key uses it.
--
-- Locks are taken in a fixed order, so that batches of several instances and features' own transactions never deadlock: new
-- accounts ascending (which locks the owner's row, as ledger.lock_owner does), then accounts descending (the house's busy
-- ones come last and are held shortest), then references ascending, then idempotency keys ascending.
--
-- `touched` contains every account once, descending, and postings name their accounts by their positions there; `unseen`
-- contains those that may not exist yet. A posting that fits into one row has a payer, a payee and perhaps a fee account; all
-- others have entries, which are grouped by posting, counted from one. An array of nulls may be null itself.
CREATE FUNCTION ledger.post(
  touched bigint[], unseen bigint[],
  ids uuid[], types text[], key_ids text[], senders bigint[], recipients bigint[],
  assets bigint[], amounts numeric[], fees numeric[], descriptions text[], refs text[], details jsonb[],
  sender_events text[], recipient_events text[],
  keys uuid[], request_digests uuid[],
  payers integer[], payees integer[], fees_to integer[],
  entry_postings integer[], entry_places integer[], entry_amounts numeric[],
  OUT outcomes text, OUT first_at timestamptz, OUT earlier jsonb
) LANGUAGE plpgsql
-- The right plan is always the same, whatever autovacuum last saw of the tables: look each row up by its key.
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
  step CONSTANT interval := '1 microsecond';
  n CONSTANT integer := cardinality(ids);
  found_ids bigint[];
  found_rows tid[];
  found_balances numeric[];
  rows tid[];
  balances numeric[];
  moved boolean[];
  last_at timestamptz;
  frozen bigint[];
  closed bigint[];
  some_frozen boolean;
  revoked text[];
  some_revoked boolean;
  repeated bigint[];
  listeners bigint[];
  verdicts text[] := array_fill(NULL::text, ARRAY[n]);
  verdict text;
  payer_afters numeric[] := array_fill(NULL::numeric, ARRAY[n]);
  payee_afters numeric[] := array_fill(NULL::numeric, ARRAY[n]);
  fee_afters numeric[] := array_fill(NULL::numeric, ARRAY[n]);
  afters numeric[] := array_fill(NULL::numeric, ARRAY[coalesce(cardinality(entry_postings), 0)]);
  after numeric;
  payee_after numeric;
  fee_after numeric;
  place integer;
  payee_place integer;
  fee_place integer;
  entry integer := 1;
  first_entry integer;
  posted integer := 0;
  updated integer;
  item record;
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'a posting must see what was committed before it got its locks: use READ COMMITTED';
  END IF;

  IF unseen IS NOT NULL THEN
    INSERT INTO ledger.accounts (id)
      SELECT u.id FROM unnest(unseen) u (id)
       WHERE (ledger.owner_of(u.id) IS NULL
              OR EXISTS (SELECT FROM public.accounts o WHERE o.id = ledger.owner_of(u.id)))
         AND NOT EXISTS (SELECT FROM ledger.accounts a WHERE a.id = u.id)
       ORDER BY u.id
      ON CONFLICT DO NOTHING;
  END IF;

  SELECT array_agg(l.balance), array_agg(l.ctid), max(l.posted_at) INTO balances, rows, last_at
    FROM (SELECT a.ctid, a.balance, a.posted_at FROM ledger.accounts a
           WHERE a.id = ANY (touched) ORDER BY a.id DESC FOR NO KEY UPDATE) l;
  IF cardinality(rows) IS DISTINCT FROM cardinality(touched) THEN
    found_ids := ARRAY(SELECT a.id FROM ledger.accounts a WHERE a.ctid = ANY (rows) ORDER BY a.id DESC);
    found_rows := rows;
    found_balances := balances;
    rows := array_fill(NULL::tid, ARRAY[cardinality(touched)]);
    balances := array_fill(NULL::numeric, ARRAY[cardinality(touched)]);
    place := 1;
    FOR i IN 1 .. cardinality(touched) LOOP
      IF found_ids[place] = touched[i] THEN
        rows[i] := found_rows[place];
        balances[i] := found_balances[place];
        place := place + 1;
      END IF;
    END LOOP;
  END IF;

  -- From here on no key is revoked and nobody is frozen among those we hold: whoever does that locks the accounts first.
  -- OFFSET 0 keeps the planner from turning a look-up round and reading everything there is.
  SELECT ARRAY(SELECT k.id FROM public.api_keys k
                WHERE (k.revoked_at IS NOT NULL OR k.expires_at IS NOT NULL) AND k.id = ANY (key_ids)
                  AND (k.revoked_at IS NOT NULL OR k.expires_at <= clock_timestamp())),
         ARRAY(SELECT o.id FROM public.accounts o WHERE o.frozen_at IS NOT NULL AND o.id = ANY (
           ARRAY(SELECT ledger.owner_of(t.id) FROM unnest(touched) t (id)))),
         ARRAY(SELECT o.id FROM public.accounts o WHERE o.closed_at IS NOT NULL AND o.id = ANY (recipients)),
         ARRAY(SELECT q.place FROM unnest(keys) WITH ORDINALITY q (digest, place)
                CROSS JOIN LATERAL (SELECT FROM ledger.idempotency_keys i WHERE i.digest = q.digest OFFSET 0) i),
         ARRAY(SELECT DISTINCT s.account_id FROM ledger.event_subscriptions s WHERE s.account_id = ANY (senders || recipients))
    INTO revoked, frozen, closed, repeated, listeners;
  some_revoked := cardinality(revoked) > 0;
  some_frozen := cardinality(frozen) > 0;

  FOREACH place IN ARRAY repeated LOOP
    SELECT k.posting_id, k.posted_at, k.request_digest INTO item FROM ledger.idempotency_keys k WHERE k.digest = keys[place];
    IF item.request_digest = request_digests[place] THEN
      verdicts[place] := 'D';
      earlier := coalesce(earlier, '[]') || ledger.describe(place, item.posting_id, item.posted_at);
    ELSE
      verdicts[place] := 'M';
    END IF;
  END LOOP;
  IF refs IS NOT NULL THEN
    FOR item IN
      SELECT q.place, r.posting_id, r.posted_at FROM unnest(refs) WITH ORDINALITY q (ref, place)
       CROSS JOIN LATERAL (
         SELECT e.posting_id, e.posted_at FROM ledger.posting_references e WHERE e.reference = q.ref OFFSET 0) r
    LOOP
      CONTINUE WHEN verdicts[item.place] IS NOT NULL;
      verdicts[item.place] := 'D';
      earlier := coalesce(earlier, '[]') || ledger.describe(item.place::integer, item.posting_id, item.posted_at);
    END LOOP;
  END IF;

  FOR i IN 1 .. n LOOP
    verdict := verdicts[i];
    IF some_revoked AND key_ids[i] = ANY (revoked) THEN verdict := 'K'; END IF;
    IF verdict IS NULL AND key_ids[i] IS NOT NULL AND recipients[i] = ANY (closed) AND senders[i] IS DISTINCT FROM recipients[i]
      AND types[i] <> 'order_refund'
    THEN
      verdict := 'U';
    END IF;
    IF verdict IS NOT NULL THEN
      WHILE entry_postings[entry] = i LOOP entry := entry + 1; END LOOP;
    ELSIF payers[i] IS NOT NULL THEN
      place := payers[i];
      payee_place := payees[i];
      fee_place := fees_to[i];
      after := balances[place] - amounts[i];
      payee_after := balances[payee_place] + amounts[i] - fees[i];
      fee_after := balances[fee_place] + fees[i];
      IF after IS NULL OR payee_after IS NULL OR (fee_place IS NOT NULL AND fee_after IS NULL) THEN
        verdict := 'U';
      ELSIF some_frozen AND ledger.owner_of(touched[place]) = ANY (frozen) THEN
        verdict := 'F';
      ELSIF after < 0 AND ledger.kind_of(touched[place]) < 32 THEN
        verdict := 'I';
      ELSE
        verdict := 'P';
        posted := posted + 1;
        balances[place] := after;
        payer_afters[i] := after;
        balances[payee_place] := payee_after;
        payee_afters[i] := payee_after;
        IF fee_place IS NOT NULL THEN
          balances[fee_place] := fee_after;
          fee_afters[i] := fee_after;
        END IF;
      END IF;
    ELSE
      verdict := 'P';
      first_entry := entry;
      WHILE entry_postings[entry] = i LOOP
        place := entry_places[entry];
        after := balances[place] + entry_amounts[entry];
        IF after IS NULL THEN
          verdict := 'U';
        ELSIF entry_amounts[entry] < 0 THEN
          IF some_frozen AND ledger.owner_of(touched[place]) = ANY (frozen) THEN
            IF verdict <> 'U' THEN verdict := 'F'; END IF;
          ELSIF after < 0 AND verdict = 'P' AND ledger.kind_of(touched[place]) < 32 THEN
            verdict := 'I';
          END IF;
        END IF;
        balances[place] := after;
        afters[entry] := after;
        entry := entry + 1;
      END LOOP;
      IF verdict = 'P' THEN
        posted := posted + 1;
      ELSE
        FOR undone IN first_entry .. entry - 1 LOOP
          place := entry_places[undone];
          balances[place] := balances[place] - entry_amounts[undone];
          afters[undone] := NULL;
        END LOOP;
      END IF;
    END IF;
    verdicts[i] := verdict;
  END LOOP;

  outcomes := array_to_string(verdicts, '');
  first_at := greatest(clock_timestamp(), last_at + step);
  IF posted = 0 THEN RETURN; END IF;
  IF posted < n THEN
    moved := array_fill(false, ARRAY[cardinality(touched)]);
    FOR i IN 1 .. n LOOP
      IF payer_afters[i] IS NOT NULL THEN
        moved[payers[i]] := true;
        moved[payees[i]] := true;
        IF fees_to[i] IS NOT NULL THEN moved[fees_to[i]] := true; END IF;
      END IF;
    END LOOP;
    FOR i IN 1 .. cardinality(afters) LOOP
      IF afters[i] IS NOT NULL THEN moved[entry_places[i]] := true; END IF;
    END LOOP;
  END IF;

  -- Whoever comes second with a reference waits here for the first, and is then refused by the key.
  IF refs IS NOT NULL THEN
    INSERT INTO ledger.posting_references (reference, posting_id, posted_at)
      SELECT r.ref, r.id, first_at + (r.n - 1) * step FROM unnest(refs, ids, verdicts) WITH ORDINALITY r (ref, id, verdict, n)
       WHERE r.ref IS NOT NULL AND r.verdict = 'P'
       ORDER BY r.ref;
  END IF;

  INSERT INTO ledger.postings (id, posted_at, type, sender_id, recipient_id, asset, amount, fee, description, reference,
      details, payer, payee, fee_to, payer_after, payee_after, fee_after)
    SELECT p.id, first_at + (p.n - 1) * step, p.type, p.sender, p.recipient, p.asset, p.amount, p.fee, p.description,
        p.ref, p.details, touched[p.payer], touched[p.payee], touched[p.fee_to], p.payer_after, p.payee_after, p.fee_after
      FROM unnest(ids, types, senders, recipients, assets, amounts, fees, descriptions, refs, details, verdicts, payers,
          payees, fees_to, payer_afters, payee_afters, fee_afters)
        WITH ORDINALITY p (id, type, sender, recipient, asset, amount, fee, description, ref, details, verdict, payer,
          payee, fee_to, payer_after, payee_after, fee_after, n)
     WHERE p.verdict = 'P';

  IF entry_postings IS NOT NULL THEN
    INSERT INTO ledger.entry_rows (account_id, posted_at, posting_id, amount, balance_after)
      SELECT touched[e.place], first_at + (e.posting - 1) * step, ids[e.posting], e.amount, e.after
        FROM unnest(entry_postings, entry_places, entry_amounts, afters) e (posting, place, amount, after)
       WHERE e.after IS NOT NULL;
  END IF;

  -- We hold these rows, so they are still where we found them.
  UPDATE ledger.accounts a SET balance = b.balance, posted_at = first_at + n * step
    FROM unnest(rows, balances, moved) b (row, balance, moved) WHERE a.ctid = b.row AND b.moved IS NOT FALSE;
  GET DIAGNOSTICS updated = ROW_COUNT;
  IF updated <> coalesce(cardinality(array_positions(moved, true)), cardinality(touched)) THEN
    RAISE EXCEPTION 'only % of the accounts were written', updated;
  END IF;

  IF keys IS NOT NULL THEN
    INSERT INTO ledger.idempotency_keys (digest, request_digest, posting_id, posted_at)
      SELECT k.digest, k.request_digest, k.id, first_at
        FROM unnest(keys, request_digests, ids, verdicts) k (digest, request_digest, id, verdict)
       WHERE k.digest IS NOT NULL AND k.verdict = 'P'
       ORDER BY k.digest;
  END IF;

  IF cardinality(listeners) > 0 THEN
    INSERT INTO ledger.events (id, account_id, type, posting_id, created_at)
      SELECT ledger.new_id(first_at), e.owner, e.type, p.id, first_at + (p.n - 1) * step
        FROM unnest(ids, senders, recipients, sender_events, recipient_events, verdicts)
          WITH ORDINALITY p (id, sender, recipient, sender_event, recipient_event, verdict, n)
       CROSS JOIN LATERAL (VALUES (p.sender, p.sender_event), (p.recipient, p.recipient_event)) e (owner, type)
       WHERE p.verdict = 'P' AND e.owner = ANY (listeners)
         AND EXISTS (SELECT FROM ledger.event_subscriptions s WHERE s.account_id = e.owner AND s.type = e.type);
  END IF;
END $$;

-- As release 0.1.0 calls it: entries only.
CREATE OR REPLACE FUNCTION ledger.post(
  touched bigint[], unseen bigint[],
  ids uuid[], types text[], key_ids text[], senders bigint[], recipients bigint[],
  assets bigint[], amounts numeric[], fees numeric[], descriptions text[], refs text[], details jsonb[],
  sender_events text[], recipient_events text[],
  keys uuid[], request_digests uuid[],
  entry_postings integer[], entry_places integer[], entry_amounts numeric[],
  OUT outcomes text, OUT first_at timestamptz, OUT earlier jsonb
) LANGUAGE sql RETURN ledger.post(touched, unseen, ids, types, key_ids, senders, recipients, assets, amounts, fees, descriptions,
  refs, details, sender_events, recipient_events, keys, request_digests, NULL::integer[], NULL::integer[], NULL::integer[],
  entry_postings, entry_places, entry_amounts);

-- A posting that is alone, such as the transfer of a quiet hour: the same as ledger.post with a batch of one that fits into
-- one row. The accounts exist, the number of the fee's is the lowest, and there is neither a reference nor details. What is not
-- simply posted is left to ledger.post, so every outcome but P is decided there alone. Most of a lone posting's time is the start
-- of statements: these have neither arrays to unnest nor rows to sort.
DROP FUNCTION ledger.post_one;
CREATE FUNCTION ledger.post_one(
  payer bigint, payee bigint, fee_to bigint, posting_id uuid, type text, key_id text, sender bigint, recipient bigint,
  asset bigint, amount numeric, fee numeric, description text, sender_event text, recipient_event text, key uuid,
  request_digest uuid,
  OUT outcomes text, OUT first_at timestamptz, OUT earlier jsonb
) LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
  has_fee CONSTANT boolean := fee_to IS NOT NULL;
  -- Their places among the locked rows, which are in descending order.
  payer_place CONSTANT integer := CASE WHEN payer > payee THEN 1 ELSE 2 END;
  payee_place CONSTANT integer := 3 - payer_place;
  rows tid[];
  balances numeric[];
  last_at timestamptz;
  next_at timestamptz;
  is_usual boolean;
  tells_sender boolean;
  tells_recipient boolean;
  updated integer;
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'a posting must see what was committed before it got its locks: use READ COMMITTED';
  END IF;

  SELECT array_agg(l.balance), array_agg(l.ctid), max(l.posted_at) INTO balances, rows, last_at
    FROM (SELECT a.ctid, a.balance, a.posted_at FROM ledger.accounts a
           WHERE a.id IN (payer, payee, fee_to) ORDER BY a.id DESC FOR NO KEY UPDATE) l;

  -- From here on no key is revoked and nobody is frozen among those we hold: whoever does that locks the accounts first.
  SELECT cardinality(rows) = 2 + has_fee::integer
      AND balances[payer_place] >= amount
      AND NOT EXISTS (SELECT FROM public.api_keys k
                       WHERE (k.revoked_at IS NOT NULL OR k.expires_at IS NOT NULL) AND k.id = key_id
                         AND (k.revoked_at IS NOT NULL OR k.expires_at <= clock_timestamp()))
      AND NOT EXISTS (SELECT FROM public.accounts o
                       WHERE o.frozen_at IS NOT NULL AND o.id IN (payer >> 14, payee >> 14))
      AND NOT EXISTS (SELECT FROM public.accounts o WHERE o.closed_at IS NOT NULL AND o.id = recipient)
      AND NOT EXISTS (SELECT FROM ledger.idempotency_keys i WHERE i.digest = key),
      EXISTS (SELECT FROM ledger.event_subscriptions s WHERE s.account_id = sender AND s.type = sender_event),
      EXISTS (SELECT FROM ledger.event_subscriptions s WHERE s.account_id = recipient AND s.type = recipient_event)
    INTO is_usual, tells_sender, tells_recipient;

  IF is_usual IS NOT TRUE THEN
    SELECT p.outcomes, p.first_at, p.earlier INTO outcomes, first_at, earlier FROM ledger.post(
      array_remove(ARRAY[greatest(payer, payee), least(payer, payee), fee_to], NULL), NULL,
      ARRAY[posting_id], ARRAY[type], ARRAY[key_id], ARRAY[sender], ARRAY[recipient], ARRAY[asset], ARRAY[amount],
      ARRAY[fee], ARRAY[description], NULL, NULL, ARRAY[sender_event], ARRAY[recipient_event],
      CASE WHEN key IS NOT NULL THEN ARRAY[key] END, CASE WHEN key IS NOT NULL THEN ARRAY[request_digest] END,
      ARRAY[payer_place], ARRAY[payee_place], CASE WHEN has_fee THEN ARRAY[3] END, NULL, NULL, NULL) p;
    RETURN;
  END IF;

  outcomes := 'P';
  first_at := greatest(clock_timestamp(), last_at + interval '1 microsecond');
  next_at := first_at + interval '1 microsecond';
  balances[payer_place] := balances[payer_place] - amount;
  balances[payee_place] := balances[payee_place] + amount - fee;
  IF has_fee THEN balances[3] := balances[3] + fee; END IF;

  INSERT INTO ledger.postings (id, posted_at, type, sender_id, recipient_id, asset, amount, fee, description, payer, payee,
      fee_to, payer_after, payee_after, fee_after)
    VALUES (posting_id, first_at, type, sender, recipient, asset, amount, fee, description, payer, payee, fee_to,
      balances[payer_place], balances[payee_place], balances[3]);
  -- We hold these rows, so they are still where we found them.
  FOR i IN 1 .. cardinality(rows) LOOP
    UPDATE ledger.accounts a SET balance = balances[i], posted_at = next_at WHERE a.ctid = rows[i];
    GET DIAGNOSTICS updated = ROW_COUNT;
    IF updated <> 1 THEN RAISE EXCEPTION 'an account was not written'; END IF;
  END LOOP;
  IF key IS NOT NULL THEN
    INSERT INTO ledger.idempotency_keys (digest, request_digest, posting_id, posted_at)
      VALUES (key, request_digest, posting_id, first_at);
  END IF;
  IF tells_sender THEN
    INSERT INTO ledger.events (id, account_id, type, posting_id, created_at)
      VALUES (ledger.new_id(first_at), sender, sender_event, posting_id, first_at);
  END IF;
  IF tells_recipient THEN
    INSERT INTO ledger.events (id, account_id, type, posting_id, created_at)
      VALUES (ledger.new_id(first_at), recipient, recipient_event, posting_id, first_at);
  END IF;
END $$;
