-- Budgets: a payment takes from every budget above it in its own commit.
-- serves_from: 16

-- A budget is permission to spend. What was spent is kept by buckets: a window of the calendar is one bucket, and a rolling
-- window has sixty. `nos` are the numbers of the buckets that had not passed at the last payment, ascending, and `sums` what was
-- spent in each. The row is its own lock: payments of all keys below it wait for it, in the order of ledger.post.
CREATE TABLE ledger.budgets (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- The account of `place`. It is no foreign key of its own: a posting that writes a row twice would have PostgreSQL lock the
  -- account's row again, for which a change of policies may hold it and wait for the posting.
  account_id bigint NOT NULL,
  place      text NOT NULL REFERENCES api_keys (id),
  name       text NOT NULL CHECK (length(name) BETWEEN 1 AND 40),
  -- The code of the asset that it counts in, which has six decimals.
  currency   smallint NOT NULL REFERENCES ledger.assets (code),
  span       text NOT NULL CHECK (span IN ('once', 'day', 'week', 'month', 'rolling')),
  time_zone  text NOT NULL DEFAULT 'UTC',
  seconds    integer CHECK ((seconds IS NOT NULL) = (span = 'rolling') AND seconds BETWEEN 60 AND 31536000),
  most       numeric NOT NULL CHECK (most >= 0 AND most = trunc(most)),
  on_exceed  text NOT NULL DEFAULT 'deny' CHECK (on_exceed IN ('deny', 'ask')),
  -- Whether it is in the policy of its key. One that comes back finds what it had spent.
  is_active  boolean NOT NULL DEFAULT true,
  nos        bigint[] NOT NULL DEFAULT '{}',
  sums       numeric[] NOT NULL DEFAULT '{}' CHECK (cardinality(sums) = cardinality(nos)),
  -- The sum of sums.
  spent      numeric NOT NULL DEFAULT 0 CHECK (spent >= 0 AND spent = trunc(spent)),
  -- For 50, 80 and 100 percent: the bucket in which reaching it was last announced.
  told       bigint[] NOT NULL DEFAULT '{NULL,NULL,NULL}' CHECK (cardinality(told) = 3),
  UNIQUE (place, name)
) WITH (fillfactor = 50);
CREATE INDEX budgets_active ON ledger.budgets (place) WHERE is_active;

-- A lower limit may leave a budget overspent. Spending never does.
CREATE FUNCTION ledger.refuse_overspending() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'budget % would be overspent: % of %', NEW.id, NEW.spent, NEW.most USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER budgets_never_overspent BEFORE UPDATE ON ledger.budgets FOR EACH ROW
  WHEN (NEW.spent > NEW.most AND NEW.spent > OLD.spent) EXECUTE FUNCTION ledger.refuse_overspending();
CREATE TRIGGER budgets_stay BEFORE UPDATE OF id, account_id, place, name, currency, span, time_zone, seconds OR DELETE OR TRUNCATE
  ON ledger.budgets FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

-- What a posting took of each budget, and in which bucket. `spent_on` names it, if it may be returned.
CREATE TABLE ledger.spendings (
  posting_id uuid PRIMARY KEY,
  posted_at  timestamptz NOT NULL,
  spent_on   text,
  budgets    bigint[] NOT NULL,
  buckets    bigint[] NOT NULL CHECK (cardinality(buckets) = cardinality(budgets)),
  amounts    numeric[] NOT NULL CHECK (cardinality(amounts) = cardinality(budgets) AND 0 < ALL (amounts))
);

CREATE UNIQUE INDEX spendings_spent_on ON ledger.spendings (spent_on) WHERE spent_on IS NOT NULL;

-- What a posting gave back. It returns to the bucket that it was taken from, and to none if that has passed.
CREATE TABLE ledger.spending_returns (
  posting_id uuid PRIMARY KEY,
  posted_at  timestamptz NOT NULL,
  spent_on   text NOT NULL,
  -- The share of what was spent, as part ÷ whole.
  part       numeric NOT NULL CHECK (part > 0),
  whole      numeric NOT NULL CHECK (whole > 0),
  -- In the order of the budgets of the spending.
  amounts    numeric[] NOT NULL CHECK (0 <= ALL (amounts))
);
CREATE INDEX spending_returns_of ON ledger.spending_returns (spent_on);

CREATE TRIGGER spendings_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger.spendings
  FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER spending_returns_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger.spending_returns
  FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
ALTER TABLE ledger.budgets ENABLE ALWAYS TRIGGER budgets_never_overspent;
ALTER TABLE ledger.budgets ENABLE ALWAYS TRIGGER budgets_stay;
ALTER TABLE ledger.spendings ENABLE ALWAYS TRIGGER spendings_append_only;
ALTER TABLE ledger.spending_returns ENABLE ALWAYS TRIGGER spending_returns_append_only;

-- Before `migrate` has granted anything, a service of an earlier release goes on posting: it needs what postings now use.
DO $$
DECLARE
  given record;
BEGIN
  FOR given IN
    SELECT DISTINCT pg_get_userbyid(a.grantee) AS role FROM pg_class c, aclexplode(c.relacl) a
     WHERE c.oid = 'ledger.postings'::regclass AND a.privilege_type = 'INSERT' AND a.grantee NOT IN (0, c.relowner)
  LOOP
    EXECUTE format('GRANT SELECT ON key_stamps, frozen_places, key_policies, ledger.budgets TO %I', given.role);
    EXECUTE format('GRANT SELECT, INSERT ON ledger.spendings, ledger.spending_returns TO %I', given.role);
  END LOOP;
END $$;

-- The bucket of a moment. Days, weeks (from Monday) and months are those of the time zone. Rolling: a sixtieth of the window.
CREATE FUNCTION ledger.bucket_of(span text, time_zone text, seconds integer, at timestamptz) RETURNS bigint
LANGUAGE sql STABLE PARALLEL SAFE RETURN CASE span
  WHEN 'once' THEN 0
  WHEN 'day' THEN (at AT TIME ZONE time_zone)::date - date '1970-01-01'
  WHEN 'week' THEN ((at AT TIME ZONE time_zone)::date - date '1969-12-29') / 7
  WHEN 'month' THEN extract(year FROM at AT TIME ZONE time_zone) * 12 + extract(month FROM at AT TIME ZONE time_zone) - 1
  WHEN 'rolling' THEN div(extract(epoch FROM at) * 60, seconds)
END;

-- When what was spent in a bucket is there again: at the end of a day, week or month; a rolling window and the rest of the bucket
-- later; never for `once`. A midnight that comes twice counts when it comes first. Rounded up to the millisecond, because responses show
-- no more: a payment at that moment must not be too early.
CREATE FUNCTION ledger.bucket_end(span text, time_zone text, seconds integer, bucket bigint) RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE RETURN CASE
  WHEN span = 'once' THEN NULL
  WHEN span = 'rolling' THEN timestamptz 'epoch' + ceil((bucket + 61) * seconds * 1000.0 / 60)::float8 * interval '1 millisecond'
  ELSE (
    SELECT CASE WHEN ledger.bucket_of(span, time_zone, NULL, midnight - interval '1 hour') > bucket
             THEN midnight - interval '1 hour' ELSE midnight END
      FROM (SELECT (CASE span
          WHEN 'day' THEN date '1970-01-01' + (bucket + 1)::integer
          WHEN 'week' THEN date '1969-12-29' + (bucket + 1)::integer * 7
          ELSE make_date(((bucket + 1) / 12)::integer, ((bucket + 1) % 12)::integer + 1, 1)
        END)::timestamp AT TIME ZONE time_zone AS midnight) m)
END;

-- Of the buckets from `first` on: what was spent in them, and the oldest in which anything was.
CREATE FUNCTION ledger.spent_since(nos bigint[], sums numeric[], first bigint) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN (SELECT sum(u.sum) FROM unnest(nos, sums) u (no, sum) WHERE u.no >= first);
CREATE FUNCTION ledger.oldest_since(nos bigint[], sums numeric[], first bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN (SELECT min(u.no) FROM unnest(nos, sums) u (no, sum) WHERE u.no >= first AND u.sum > 0);

-- A budget at a moment: its bucket, what was spent in the buckets that have not passed, and which thresholds were
-- announced in them (1 for 50 percent, 2 for 80, 4 for 100). When the clock steps back, the bucket stays. It is a table, so
-- that the planner takes it into the statement that asks.
CREATE FUNCTION ledger.open_buckets(
  span text, time_zone text, seconds integer, nos bigint[], sums numeric[], spent numeric, told bigint[], at timestamptz
) RETURNS TABLE (bucket_now bigint, spent_now numeric, told_now integer) LANGUAGE sql STABLE AS $$
  SELECT n.bucket,
         CASE WHEN nos[1] >= f.bucket THEN spent
              WHEN nos[cardinality(nos)] >= f.bucket THEN ledger.spent_since(nos, sums, f.bucket) ELSE 0 END,
         CASE WHEN told[1] >= f.bucket THEN 1 ELSE 0 END + CASE WHEN told[2] >= f.bucket THEN 2 ELSE 0 END
           + CASE WHEN told[3] >= f.bucket THEN 4 ELSE 0 END
    FROM (SELECT greatest(ledger.bucket_of(span, time_zone, seconds, at), nos[cardinality(nos)]) AS bucket OFFSET 0) n,
         LATERAL (SELECT CASE WHEN span = 'rolling' THEN n.bucket - 60 ELSE n.bucket END AS bucket OFFSET 0) f
$$;

-- The buckets of a rolling window after something was taken in the current one: those that have passed are gone. Mostly the current
-- one is there already and none has passed, which ledger.post does without these.
CREATE FUNCTION ledger.rolled_nos(nos bigint[], bucket bigint) RETURNS bigint[] LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN
  ARRAY(SELECT u FROM unnest(nos) u WHERE u >= bucket - 60 AND u < bucket ORDER BY u) || bucket;
CREATE FUNCTION ledger.rolled_sums(nos bigint[], sums numeric[], bucket bigint, taken numeric) RETURNS numeric[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN
  ARRAY(SELECT u.sum FROM unnest(nos, sums) u (no, sum) WHERE u.no >= bucket - 60 AND u.no < bucket ORDER BY u.no)
  || (taken + coalesce(sums[array_position(nos, bucket)], 0));

-- The key that a place is shown as: the newest that works.
CREATE FUNCTION ledger.key_at(wanted text) RETURNS text LANGUAGE sql STABLE RETURN (
  SELECT k.id FROM public.api_keys k WHERE k.place = wanted ORDER BY k.revoked_at IS NOT NULL, k.id DESC LIMIT 1);

-- The budgets at some places as they are now. `resets_at` is when the window ends; of a rolling window, when the next unit returns.
-- `returns_at` is when what is spent now returns.
CREATE FUNCTION ledger.budget_states(places text[], at timestamptz DEFAULT clock_timestamp()) RETURNS TABLE (
  id bigint, place text, name text, currency smallint, span text, most numeric, on_exceed text, spent numeric, remaining numeric,
  resets_at timestamptz, returns_at timestamptz
) LANGUAGE sql STABLE AS $$
  SELECT b.id, b.place, b.name, b.currency, b.span, b.most, b.on_exceed, o.spent_now, greatest(b.most - o.spent_now, 0),
         ledger.bucket_end(b.span, b.time_zone, b.seconds,
           CASE WHEN b.span = 'rolling' THEN ledger.oldest_since(b.nos, b.sums, o.bucket_now - 60) ELSE o.bucket_now END),
         ledger.bucket_end(b.span, b.time_zone, b.seconds, o.bucket_now)
    FROM ledger.budgets b
   CROSS JOIN LATERAL ledger.open_buckets(b.span, b.time_zone, b.seconds, b.nos, b.sums, b.spent, b.told, at) o
   WHERE b.place = ANY (places) AND b.is_active
$$;

-- For the answer to a payment that a budget does not cover. `taken` is what the same batch has already taken of it.
CREATE FUNCTION ledger.describe_exceeded(budget bigint, bucket bigint, remaining numeric, taken numeric) RETURNS jsonb
LANGUAGE sql STABLE AS $$
  SELECT jsonb_build_object('key', ledger.key_at(b.place), 'id', b.name, 'onExceed', b.on_exceed, 'asset', b.currency,
      'remaining', greatest(remaining, 0)::text,
      'resetsAt', ledger.bucket_end(b.span, b.time_zone, b.seconds,
        CASE WHEN b.span <> 'rolling' THEN bucket
             ELSE coalesce((SELECT min(u.no) FROM unnest(b.nos, b.sums) u (no, sum) WHERE u.no >= bucket - 60 AND u.sum > 0),
               CASE WHEN taken > 0 THEN bucket END) END))
    FROM ledger.budgets b WHERE b.id = budget
$$;

-- Announces the thresholds that a budget has reached with what is spent of it now, and that were not announced in this window
-- (`before`, as in open_buckets).
CREATE FUNCTION ledger.tell_thresholds(budget bigint, bucket bigint, spent_now numeric, before integer, at timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  b ledger.budgets;
  percents CONSTANT integer[] := '{50,80,100}';
  announced bigint[];
BEGIN
  SELECT * INTO b FROM ledger.budgets WHERE id = budget;
  announced := b.told;
  FOR i IN 1 .. 3 LOOP
    CONTINUE WHEN before & (1 << (i - 1)) <> 0 OR spent_now * 100 < b.most * percents[i];
    announced[i] := bucket;
    INSERT INTO ledger.events (id, account_id, type, data, created_at)
      SELECT ledger.new_id(at), s.account_id, s.type, jsonb_build_object('key', ledger.key_at(b.place), 'budget', b.name,
          'threshold', percents[i], 'limit', trim_scale(b.most / 1000000)::text, 'spent', trim_scale(spent_now / 1000000)::text), at
        FROM ledger.event_subscriptions s WHERE s.account_id = b.account_id AND s.type = 'budget.threshold';
  END LOOP;
  IF announced IS DISTINCT FROM b.told THEN UPDATE ledger.budgets SET told = announced WHERE id = budget; END IF;
END $$;

-- Gives back a share of what was spent. The caller holds the budgets, so returns of one spending follow one another: together
-- they give back the share that they name together, rounded down, and at most everything.
CREATE FUNCTION ledger.give_back(posting uuid, at timestamptz, subject text, part numeric, whole numeric) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  s ledger.spendings;
  given numeric[];
BEGIN
  SELECT * INTO s FROM ledger.spendings x WHERE x.spent_on = subject AND x.spent_on IS NOT NULL;
  IF NOT FOUND THEN RETURN; END IF;
  SELECT array_agg(div(a.amount * least(e.parts + part, whole), whole) - e.given ORDER BY a.n) INTO given
    FROM unnest(s.amounts) WITH ORDINALITY a (amount, n)
   CROSS JOIN LATERAL (SELECT coalesce(sum(r.part), 0) AS parts, coalesce(sum(r.amounts[a.n]), 0) AS given
                         FROM ledger.spending_returns r WHERE r.spent_on = subject) e;
  INSERT INTO ledger.spending_returns (posting_id, posted_at, spent_on, part, whole, amounts) VALUES (posting, at, subject, part, whole, given);
  UPDATE ledger.budgets b
     SET spent = b.spent - g.amount, sums[array_position(b.nos, g.bucket)] = b.sums[array_position(b.nos, g.bucket)] - g.amount
    FROM unnest(s.budgets, s.buckets, given) g (id, bucket, amount)
   WHERE b.id = g.id AND g.amount > 0 AND g.bucket = ANY (b.nos);
END $$;

-- Posts a batch: every posting is checked in order, against the balances that the ones before it have left, and gets one
-- letter in `outcomes`:
--   P posted   I insufficient balance   U unknown account   F frozen account   K key revoked or expired   D duplicate   M mismatch
--   S stale: the policies of the account are not those that it was judged by   B a budget does not cover it
-- `first_at` + n microseconds is the time of the n-th posting, counted from zero. `earlier` describes the first posting of
-- each duplicate, and the budgets that do not cover a posting.
--
-- A payment made with a key to a closed account is refused like one to an unknown account. A deposit or the refund of an
-- order is credited, because the money belongs to the account. A key's expiry for lack of use is not checked here: posting
-- with a key uses it.
--
-- Locks are taken in a fixed order, so that batches of several instances and features' own transactions never deadlock: new
-- accounts ascending (which locks the owner's row, as ledger.lock_owner does), then accounts descending (the house's busy
-- ones come last and are held shortest), then budgets ascending, then references ascending, then idempotency keys ascending.
--
-- `touched` contains every account once, descending, and postings name their accounts by their positions there; `unseen`
-- contains those that may not exist yet. A posting that fits into one row has a payer, a payee and perhaps a fee account; all
-- others have entries, which are grouped by posting, counted from one. An array of nulls may be null itself.
--
-- `stamps` are the numbers of policies that postings with a key were judged by (key_stamps). `budgets` contains every budget once,
-- ascending, and spends name theirs by its position there. They are grouped by posting, and name a budget once per posting.
-- `spent_on` names what a posting was spent on. A posting with `returns_of` gives back the share part ÷ whole of that.
CREATE FUNCTION ledger.post(
  touched bigint[], unseen bigint[],
  ids uuid[], types text[], key_ids text[], senders bigint[], recipients bigint[],
  assets bigint[], amounts numeric[], fees numeric[], descriptions text[], refs text[], details jsonb[],
  sender_events text[], recipient_events text[],
  keys uuid[], request_digests uuid[],
  payers integer[], payees integer[], fees_to integer[],
  entry_postings integer[], entry_places integer[], entry_amounts numeric[],
  stamps bigint[], budgets bigint[], spend_postings integer[], spend_places integer[], spend_amounts numeric[],
  spent_on text[], returns_of text[], return_parts numeric[], return_wholes numeric[],
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
  stamped bigint[];
  stale integer[];
  -- Of each budget: where its row is, its current bucket, its limit, what was spent of it, what this batch spends, and the thresholds announced.
  budget_rows tid[];
  bucket_now bigint[];
  limits numeric[];
  used numeric[];
  taken numeric[];
  announced integer[];
  spend integer := 1;
  first_spend integer;
  denied text;
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
         ARRAY(SELECT DISTINCT s.account_id FROM ledger.event_subscriptions s WHERE s.account_id = ANY (senders || recipients)),
         ARRAY(SELECT s.account_id FROM public.key_stamps s WHERE s.account_id = ANY (senders))
    INTO revoked, frozen, closed, repeated, listeners, stamped;
  IF cardinality(stamped) > 0 THEN
    stale := ARRAY(SELECT q.place FROM unnest(senders, stamps, key_ids) WITH ORDINALITY q (sender, stamp, key_id, place)
                     JOIN public.key_stamps s ON s.account_id = q.sender
                    WHERE q.key_id IS NOT NULL AND s.stamp <> coalesce(q.stamp, 0));
  END IF;
  IF returns_of IS NOT NULL THEN
    -- Those of spends and of returns, in one order.
    PERFORM FROM ledger.budgets b
      WHERE b.id = ANY (budgets || ARRAY(SELECT unnest(s.budgets) FROM ledger.spendings s WHERE s.spent_on = ANY (returns_of)))
      ORDER BY b.id FOR NO KEY UPDATE;
  END IF;
  IF budgets IS NOT NULL THEN
    SELECT array_agg(b.row), array_agg(b.bucket_now), array_agg(b.most), array_agg(b.spent), array_agg(b.told), array_agg(0::numeric)
      INTO budget_rows, bucket_now, limits, used, announced, taken
      FROM (SELECT l.row, o.bucket_now, l.most, o.spent_now AS spent, o.told_now AS told
              FROM (SELECT b.ctid AS row, b.* FROM ledger.budgets b WHERE b.id = ANY (budgets) ORDER BY b.id FOR NO KEY UPDATE) l
             CROSS JOIN LATERAL ledger.open_buckets(l.span, l.time_zone, l.seconds, l.nos, l.sums, l.spent, l.told,
               clock_timestamp()) o) b;
    IF cardinality(limits) IS DISTINCT FROM cardinality(budgets) THEN RAISE EXCEPTION 'a budget does not exist'; END IF;
  END IF;
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
    denied := CASE WHEN i = ANY (stale) THEN 'S' END;
    first_spend := spend;
    WHILE spend_postings[spend] = i LOOP
      place := spend_places[spend];
      IF used[place] + spend_amounts[spend] > limits[place] AND denied IS NULL THEN denied := 'B'; END IF;
      spend := spend + 1;
    END LOOP;
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
      ELSIF denied IS NOT NULL THEN
        verdict := denied;
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
      IF denied IS NOT NULL AND verdict IN ('P', 'I') THEN verdict := denied; END IF;
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
    IF verdict = 'P' THEN
      FOR taking IN first_spend .. spend - 1 LOOP
        place := spend_places[taking];
        used[place] := used[place] + spend_amounts[taking];
        taken[place] := taken[place] + spend_amounts[taking];
      END LOOP;
    ELSIF verdict = 'B' THEN
      earlier := coalesce(earlier, '[]') || jsonb_build_object('place', i, 'exceeded', ARRAY(
        SELECT ledger.describe_exceeded(budgets[spend_places[s]], bucket_now[spend_places[s]],
            limits[spend_places[s]] - used[spend_places[s]], taken[spend_places[s]])
          FROM generate_series(first_spend, spend - 1) s
         WHERE used[spend_places[s]] + spend_amounts[s] > limits[spend_places[s]] ORDER BY s));
    END IF;
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

  IF budgets IS NOT NULL THEN
    INSERT INTO ledger.spendings (posting_id, posted_at, spent_on, budgets, buckets, amounts)
      SELECT ids[s.posting], first_at + (s.posting - 1) * step, spent_on[s.posting], array_agg(budgets[s.place] ORDER BY s.n),
          array_agg(bucket_now[s.place] ORDER BY s.n), array_agg(s.amount ORDER BY s.n)
        FROM unnest(spend_postings, spend_places, spend_amounts) WITH ORDINALITY s (posting, place, amount, n)
       WHERE verdicts[s.posting] = 'P'
       GROUP BY s.posting;
    UPDATE ledger.budgets b
       SET spent = t.spent,
           nos = CASE WHEN b.nos[cardinality(b.nos)] = t.bucket AND b.nos[1] >= t.bucket - 60 THEN b.nos
             WHEN b.span <> 'rolling' THEN ARRAY[t.bucket]
             ELSE ledger.rolled_nos(b.nos, t.bucket) END,
           sums = CASE WHEN b.span <> 'rolling' THEN ARRAY[t.spent]
             WHEN b.nos[cardinality(b.nos)] = t.bucket AND b.nos[1] >= t.bucket - 60
               THEN b.sums[:cardinality(b.sums) - 1] || (b.sums[cardinality(b.sums)] + t.taken)
             ELSE ledger.rolled_sums(b.nos, b.sums, t.bucket, t.taken) END
      FROM unnest(budget_rows, bucket_now, used, taken) t (row, bucket, spent, taken) WHERE b.ctid = t.row AND t.taken > 0;
    GET DIAGNOSTICS updated = ROW_COUNT;
    IF updated <> (SELECT count(*) FROM unnest(taken) t WHERE t > 0) THEN
      RAISE EXCEPTION 'only % of the budgets were written', updated;
    END IF;
    FOR i IN 1 .. cardinality(budgets) LOOP
      IF taken[i] > 0 AND used[i] * 2 >= limits[i] AND announced[i] < 7 THEN
        PERFORM ledger.tell_thresholds(budgets[i], bucket_now[i], used[i], announced[i], first_at);
      END IF;
    END LOOP;
  END IF;
  IF returns_of IS NOT NULL THEN
    FOR i IN 1 .. n LOOP
      IF returns_of[i] IS NOT NULL AND verdicts[i] = 'P' THEN
        PERFORM ledger.give_back(ids[i], first_at + (i - 1) * step, returns_of[i], return_parts[i], return_wholes[i]);
      END IF;
    END LOOP;
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
  entry_postings, entry_places, entry_amounts, NULL::bigint[], NULL::bigint[], NULL::integer[], NULL::integer[], NULL::numeric[],
  NULL::text[], NULL::text[], NULL::numeric[], NULL::numeric[]);

-- A posting that is alone, such as the transfer of a quiet hour: the same as ledger.post with a batch of one that fits into
-- one row. The accounts exist, the number of the fee's is the lowest, and there are neither reference, details nor budgets. What is not
-- simply posted is left to ledger.post, so every outcome but P is decided there alone. Most of a lone posting's time is the start
-- of statements: these have neither arrays to unnest nor rows to sort.
DROP FUNCTION ledger.post_one;
CREATE FUNCTION ledger.post_one(
  payer bigint, payee bigint, fee_to bigint, posting_id uuid, type text, key_id text, sender bigint, recipient bigint,
  asset bigint, amount numeric, fee numeric, description text, sender_event text, recipient_event text, key uuid,
  request_digest uuid, judged_by bigint,
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
      AND NOT EXISTS (SELECT FROM ledger.idempotency_keys i WHERE i.digest = key)
      AND NOT EXISTS (SELECT FROM public.key_stamps s
                       WHERE s.account_id = sender AND s.stamp <> coalesce(judged_by, 0) AND key_id IS NOT NULL),
      EXISTS (SELECT FROM ledger.event_subscriptions s WHERE s.account_id = sender AND s.type = sender_event),
      EXISTS (SELECT FROM ledger.event_subscriptions s WHERE s.account_id = recipient AND s.type = recipient_event)
    INTO is_usual, tells_sender, tells_recipient;

  IF is_usual IS NOT TRUE THEN
    SELECT p.outcomes, p.first_at, p.earlier INTO outcomes, first_at, earlier FROM ledger.post(
      array_remove(ARRAY[greatest(payer, payee), least(payer, payee), fee_to], NULL), NULL,
      ARRAY[posting_id], ARRAY[type], ARRAY[key_id], ARRAY[sender], ARRAY[recipient], ARRAY[asset], ARRAY[amount],
      ARRAY[fee], ARRAY[description], NULL, NULL, ARRAY[sender_event], ARRAY[recipient_event],
      CASE WHEN key IS NOT NULL THEN ARRAY[key] END, CASE WHEN key IS NOT NULL THEN ARRAY[request_digest] END,
      ARRAY[payer_place], ARRAY[payee_place], CASE WHEN has_fee THEN ARRAY[3] END, NULL, NULL, NULL, ARRAY[judged_by], NULL,
      NULL, NULL, NULL, NULL, NULL, NULL, NULL) p;
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

-- As builds between the releases called it. It knows no budgets, so it must not remain.
DROP FUNCTION ledger.post(bigint[], bigint[], uuid[], text[], text[], bigint[], bigint[], bigint[], numeric[], numeric[], text[],
  text[], jsonb[], text[], text[], uuid[], uuid[], integer[], integer[], integer[], integer[], integer[], numeric[]);
