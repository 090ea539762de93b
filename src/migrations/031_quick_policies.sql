-- Payments under policies cost the database less, and their records are chained by it.
-- serves_from: 16

-- What is copied here is not to change meanwhile.
LOCK TABLE ledger.budgets, ledger.spendings, ledger.spending_returns, decisions_waiting IN ACCESS EXCLUSIVE MODE;

-- What every payment changes of a budget is a small row. `spent` is what was spent in the buckets that had not passed at the last payment,
-- `in_bucket` what of it in the last one, and `bucket_until` when that ends: until then nothing comes back. Both are null before the first
-- payment. What was spent in earlier buckets of a rolling window stays in ledger.budgets, as does the limit that the policy sets.
CREATE TABLE ledger.budget_counts (
  budget       bigint PRIMARY KEY,
  most         numeric NOT NULL,
  bucket       bigint,
  bucket_until timestamptz,
  spent        numeric NOT NULL DEFAULT 0,
  in_bucket    numeric NOT NULL DEFAULT 0 CHECK (0 <= in_bucket AND in_bucket <= spent)
) WITH (fillfactor = 50);
INSERT INTO ledger.budget_counts (budget, most, bucket, spent, in_bucket)
  SELECT id, most, nos[cardinality(nos)], spent, coalesce(sums[cardinality(sums)], 0) FROM ledger.budgets;

DROP TRIGGER budgets_never_overspent ON ledger.budgets;
UPDATE ledger.budgets SET nos = nos[:cardinality(nos) - 1], sums = sums[:cardinality(sums) - 1] WHERE cardinality(nos) > 0;
ALTER TABLE ledger.budgets DROP COLUMN spent;

CREATE TRIGGER budget_counts_never_overspent BEFORE UPDATE ON ledger.budget_counts FOR EACH ROW
  WHEN (NEW.spent > NEW.most AND NEW.spent > OLD.spent) EXECUTE FUNCTION ledger.refuse_overspending();
CREATE OR REPLACE FUNCTION ledger.refuse_overspending() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'budget % would be overspent: % of %', NEW.budget, NEW.spent, NEW.most USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER budget_counts_stay BEFORE UPDATE OF budget OR DELETE OR TRUNCATE ON ledger.budget_counts
  FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE FUNCTION ledger.count_budget() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO ledger.budget_counts (budget, most) VALUES (NEW.id, NEW.most);
  ELSE
    UPDATE ledger.budget_counts SET most = NEW.most WHERE budget = NEW.id;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER budgets_are_counted AFTER INSERT OR UPDATE OF most ON ledger.budgets FOR EACH ROW EXECUTE FUNCTION ledger.count_budget();
ALTER TABLE ledger.budget_counts ENABLE ALWAYS TRIGGER budget_counts_never_overspent;
ALTER TABLE ledger.budget_counts ENABLE ALWAYS TRIGGER budget_counts_stay;
ALTER TABLE ledger.budgets ENABLE ALWAYS TRIGGER budgets_are_counted;

-- Budgets as they were read before, with all of their buckets.
CREATE VIEW ledger.budget_windows AS
  SELECT b.id, b.account_id, b.place, b.name, b.currency, b.span, b.time_zone, b.seconds, b.most, b.on_exceed, b.is_active, b.told,
         CASE WHEN c.bucket IS NULL THEN b.nos ELSE b.nos || c.bucket END AS nos,
         CASE WHEN c.bucket IS NULL THEN b.sums ELSE b.sums || c.in_bucket END AS sums, c.spent
    FROM ledger.budgets b JOIN ledger.budget_counts c ON c.budget = b.id;

-- What a posting left of the budgets that it took from is kept beside what it took.
ALTER TABLE ledger.spendings ADD COLUMN remaining numeric[];

-- Until when a bucket is the current one. A rolling window: rounded down to the millisecond, so never too late.
CREATE FUNCTION ledger.bucket_until(span text, time_zone text, seconds integer, bucket bigint) RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE RETURN CASE span
  WHEN 'once' THEN 'infinity'
  WHEN 'rolling' THEN timestamptz 'epoch' + floor((bucket + 1) * seconds * 1000.0 / 60)::float8 * interval '1 millisecond'
  ELSE ledger.bucket_end(span, time_zone, seconds, bucket)
END;

-- As in 025, from these tables.
CREATE OR REPLACE FUNCTION ledger.budget_states(places text[], at timestamptz DEFAULT clock_timestamp()) RETURNS TABLE (
  id bigint, place text, name text, currency smallint, span text, most numeric, on_exceed text, spent numeric, remaining numeric,
  resets_at timestamptz, returns_at timestamptz
) LANGUAGE sql STABLE AS $$
  SELECT b.id, b.place, b.name, b.currency, b.span, b.most, b.on_exceed, o.spent_now, greatest(b.most - o.spent_now, 0),
         ledger.bucket_end(b.span, b.time_zone, b.seconds,
           CASE WHEN b.span = 'rolling' THEN ledger.oldest_since(b.nos, b.sums, o.bucket_now - 60) ELSE o.bucket_now END),
         ledger.bucket_end(b.span, b.time_zone, b.seconds, o.bucket_now)
    FROM ledger.budget_windows b
   CROSS JOIN LATERAL ledger.open_buckets(b.span, b.time_zone, b.seconds, b.nos, b.sums, b.spent, b.told, at) o
   WHERE b.place = ANY (places) AND b.is_active
$$;

CREATE OR REPLACE FUNCTION ledger.describe_exceeded(budget bigint, bucket bigint, remaining numeric, taken numeric) RETURNS jsonb
LANGUAGE sql STABLE AS $$
  SELECT jsonb_build_object('key', ledger.key_at(b.place), 'id', b.name, 'onExceed', b.on_exceed, 'asset', b.currency,
      'remaining', greatest(remaining, 0)::text,
      'resetsAt', ledger.bucket_end(b.span, b.time_zone, b.seconds,
        CASE WHEN b.span <> 'rolling' THEN bucket
             ELSE coalesce((SELECT min(u.no) FROM unnest(b.nos, b.sums) u (no, sum) WHERE u.no >= bucket - 60 AND u.sum > 0),
               CASE WHEN taken > 0 THEN bucket END) END))
    FROM ledger.budget_windows b WHERE b.id = budget
$$;

CREATE OR REPLACE FUNCTION ledger.give_back(posting uuid, at timestamptz, subject text, part numeric, whole numeric) RETURNS void
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
  INSERT INTO ledger.spending_returns (posting_id, posted_at, spent_on, part, whole, amounts)
    VALUES (posting, at, subject, part, whole, given);
  UPDATE ledger.budget_counts c
     SET spent = c.spent - g.amount, in_bucket = c.in_bucket - CASE WHEN g.bucket = c.bucket THEN g.amount ELSE 0 END
    FROM unnest(s.budgets, s.buckets, given) g (id, bucket, amount) JOIN ledger.budgets b ON b.id = g.id
   WHERE c.budget = g.id AND g.amount > 0 AND (g.bucket = c.bucket OR g.bucket = ANY (b.nos));
  UPDATE ledger.budgets b SET sums[array_position(b.nos, g.bucket)] = b.sums[array_position(b.nos, g.bucket)] - g.amount
    FROM unnest(s.budgets, s.buckets, given) g (id, bucket, amount)
   WHERE b.id = g.id AND g.amount > 0 AND g.bucket = ANY (b.nos);
END $$;

-- The payments of payers that were guarded once, so that looking for one like another costs the same however many there are. From
-- `since` on, every posting of the payer that has a recipient is here; what is older than ten minutes is of no use. Until ten minutes
-- after `since` the postings themselves are read.
CREATE TABLE ledger.guarded_payers (payer bigint PRIMARY KEY, since timestamptz NOT NULL);
CREATE TABLE ledger.guarded_payments (
  payer         bigint NOT NULL,
  recipient     bigint NOT NULL,
  amount        numeric NOT NULL,
  posted_at     timestamptz NOT NULL,
  type          text NOT NULL,
  has_reference boolean NOT NULL,
  posting_id    uuid NOT NULL
);
CREATE INDEX guarded_payments_like ON ledger.guarded_payments (payer, recipient, amount, posted_at);
CREATE INDEX guarded_payments_by_age ON ledger.guarded_payments USING brin (posted_at) WITH (autosummarize = on);

-- Every posting reads these tables from now on, also those of earlier releases, and a role that posts is granted the rest only later.
DO $$
DECLARE
  given record;
BEGIN
  FOR given IN
    SELECT DISTINCT pg_get_userbyid(a.grantee) AS role FROM pg_class c, aclexplode(c.relacl) a
     WHERE c.oid = 'ledger.postings'::regclass AND a.privilege_type = 'INSERT' AND a.grantee NOT IN (0, c.relowner)
  LOOP
    EXECUTE format('GRANT SELECT, INSERT, UPDATE ON ledger.budget_counts TO %I', given.role);
    EXECUTE format('GRANT SELECT ON ledger.budget_windows TO %I', given.role);
    EXECUTE format('GRANT SELECT, INSERT ON ledger.guarded_payers, ledger.guarded_payments TO %I', given.role);
  END LOOP;
END $$;

-- As in 025, but: one lock holds all budgets of an owner, that of the owner's stamp, after the accounts and ascending. The buckets of a
-- budget are computed only when the last one has ended. And what a posting leaves of its budgets is kept.
--
-- A guarded posting is refused if the payer has made one like it in the last ten minutes: of the same type, to the same recipient, of the
-- same amount, with a reference (as payments of invoices have) or without. Unless the newest one is what the guard names.
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
  guards uuid[] DEFAULT NULL,
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
  watched bigint[];
  settled bigint[];
  stale integer[];
  -- Of each budget: where its row is, its current bucket and when that ends, its limit, and what remained of it and remains.
  budget_rows tid[];
  currents bigint[];
  untils timestamptz[];
  limits numeric[];
  had numeric[];
  has numeric[];
  -- Of each spend: what it leaves of its budget. Null where nothing was posted.
  lefts numeric[] := array_fill(NULL::numeric, ARRAY[coalesce(cardinality(spend_postings), 0)]);
  now_at timestamptz;
  -- The places of those whose last bucket had ended.
  ended integer[] := '{}';
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

  IF budgets IS NOT NULL OR returns_of IS NOT NULL THEN
    -- Whoever holds an owner's stamp holds all of its budgets. An owner of budgets has one.
    PERFORM FROM public.key_stamps s
      WHERE s.account_id = ANY (senders || ARRAY(
        SELECT b.account_id FROM ledger.spendings t JOIN ledger.budgets b ON b.id = ANY (t.budgets) WHERE t.spent_on = ANY (returns_of)))
      ORDER BY s.account_id FOR NO KEY UPDATE;
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
         ARRAY(SELECT s.account_id FROM public.key_stamps s WHERE s.account_id = ANY (senders)),
         ARRAY(SELECT w.payer FROM ledger.guarded_payers w WHERE w.payer = ANY (touched))
    INTO revoked, frozen, closed, repeated, listeners, stamped, watched;
  IF cardinality(stamped) > 0 THEN
    stale := ARRAY(SELECT q.place FROM unnest(senders, stamps, key_ids) WITH ORDINALITY q (sender, stamp, key_id, place)
                     JOIN public.key_stamps s ON s.account_id = q.sender
                    WHERE q.key_id IS NOT NULL AND s.stamp <> coalesce(q.stamp, 0));
  END IF;
  IF budgets IS NOT NULL THEN
    SELECT array_agg(c.ctid), array_agg(c.bucket), array_agg(c.bucket_until), array_agg(c.most), array_agg(c.most - c.spent)
      INTO budget_rows, currents, untils, limits, has
      FROM (SELECT c.ctid, c.* FROM ledger.budget_counts c WHERE c.budget = ANY (budgets) ORDER BY c.budget) c;
    IF cardinality(limits) IS DISTINCT FROM cardinality(budgets) THEN RAISE EXCEPTION 'a budget does not exist'; END IF;
    -- Mostly their buckets have not ended since the last payment.
    now_at := clock_timestamp();
    FOR item IN
      SELECT q.n, o.bucket_now, o.spent_now, ledger.bucket_until(b.span, b.time_zone, b.seconds, o.bucket_now) AS until
        FROM unnest(budgets, untils) WITH ORDINALITY q (id, until, n)
       CROSS JOIN LATERAL (SELECT * FROM ledger.budget_windows w WHERE w.id = q.id OFFSET 0) b
       CROSS JOIN LATERAL ledger.open_buckets(b.span, b.time_zone, b.seconds, b.nos, b.sums, b.spent, b.told, now_at) o
       WHERE q.until IS NULL OR q.until <= now_at
    LOOP
      currents[item.n] := item.bucket_now;
      has[item.n] := limits[item.n] - item.spent_now;
      untils[item.n] := item.until;
      ended := ended || item.n::integer;
    END LOOP;
    had := has;
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

  -- We hold the payers, so every payment of theirs is either there or comes after these.
  IF guards IS NOT NULL THEN
    now_at := clock_timestamp();
    settled := ARRAY(SELECT w.payer FROM ledger.guarded_payers w WHERE w.payer = ANY (watched) AND w.since <= now_at - interval '10 minutes');
    FOR item IN
      SELECT q.place, l.posting_id, l.posted_at
        FROM unnest(guards, payers, types, recipients, amounts, refs)
          WITH ORDINALITY q (guard, payer, type, recipient, amount, ref, place)
       CROSS JOIN LATERAL (SELECT * FROM (
          SELECT g.posting_id, g.posted_at FROM ledger.guarded_payments g
           WHERE g.payer = touched[q.payer] AND g.recipient = q.recipient AND g.amount = q.amount AND g.posted_at > now_at - interval '10 minutes'
             AND g.type = q.type AND g.has_reference = (q.ref IS NOT NULL)
          UNION ALL
          SELECT p.id, p.posted_at FROM ledger.postings p
           WHERE NOT touched[q.payer] = ANY (settled) AND p.payer = touched[q.payer] AND p.posted_at > now_at - interval '10 minutes'
             AND p.type = q.type AND p.recipient_id = q.recipient AND p.amount = q.amount
             AND (p.reference IS NOT NULL) = (q.ref IS NOT NULL)) l
         ORDER BY posted_at DESC LIMIT 1) l
       WHERE q.guard IS NOT NULL AND l.posting_id <> q.guard
    LOOP
      CONTINUE WHEN verdicts[item.place] IS NOT NULL;
      verdicts[item.place] := 'L';
      earlier := coalesce(earlier, '[]')
        || jsonb_build_object('place', item.place, 'like', jsonb_build_object('id', item.posting_id, 'postedAt', item.posted_at));
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
      IF spend_amounts[spend] > has[place] AND denied IS NULL THEN denied := 'B'; END IF;
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
        has[place] := has[place] - spend_amounts[taking];
        lefts[taking] := has[place];
      END LOOP;
    ELSIF verdict = 'B' THEN
      earlier := coalesce(earlier, '[]') || jsonb_build_object('place', i, 'exceeded', ARRAY(
        SELECT ledger.describe_exceeded(budgets[spend_places[s]], currents[spend_places[s]],
            has[spend_places[s]], had[spend_places[s]] - has[spend_places[s]])
          FROM generate_series(first_spend, spend - 1) s WHERE spend_amounts[s] > has[spend_places[s]] ORDER BY s));
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
    INSERT INTO ledger.spendings (posting_id, posted_at, spent_on, budgets, buckets, amounts, remaining)
      SELECT ids[s.posting], first_at + (s.posting - 1) * step, spent_on[s.posting], array_agg(budgets[s.place]),
          array_agg(currents[s.place]), array_agg(s.amount), array_agg(s.remaining)
        FROM (SELECT * FROM unnest(spend_postings, spend_places, spend_amounts, lefts) t (posting, place, amount, remaining)
               WHERE t.remaining IS NOT NULL ORDER BY t.posting, t.place) s
       GROUP BY s.posting;
    IF cardinality(ended) > 0 THEN
      -- The last bucket of a rolling window becomes one of the earlier ones. Those that have passed are gone.
      UPDATE ledger.budgets b
         SET nos = ARRAY(SELECT u FROM unnest(b.nos || t.last) u WHERE u >= t.bucket - 60 AND u < t.bucket),
             sums = ARRAY(SELECT u.sum FROM unnest(b.nos || t.last, b.sums || t.in_last) u (no, sum)
                           WHERE u.no >= t.bucket - 60 AND u.no < t.bucket)
        FROM (SELECT budgets[e.n] AS id, currents[e.n] AS bucket, c.bucket AS last, c.in_bucket AS in_last
                FROM unnest(ended) e (n) JOIN ledger.budget_counts c ON c.ctid = budget_rows[e.n]
               WHERE has[e.n] < had[e.n] AND c.bucket < currents[e.n]) t
       WHERE b.id = t.id AND b.span = 'rolling';
    END IF;
    UPDATE ledger.budget_counts c
       SET spent = t.most - t.has, in_bucket = t.had - t.has + CASE WHEN c.bucket = t.bucket THEN c.in_bucket ELSE 0 END,
           bucket = t.bucket, bucket_until = t.until
      FROM unnest(budget_rows, currents, untils, limits, had, has) t (row, bucket, until, most, had, has)
     WHERE c.ctid = t.row AND t.has < t.had;
    GET DIAGNOSTICS updated = ROW_COUNT;
    IF updated <> (SELECT count(*) FROM unnest(had, has) t (had, has) WHERE t.has < t.had) THEN
      RAISE EXCEPTION 'only % of the budgets were written', updated;
    END IF;
    FOR i IN 1 .. cardinality(budgets) LOOP
      IF has[i] * 2 <= limits[i] AND has[i] < had[i] THEN
        PERFORM ledger.tell_thresholds(b.id, currents[i], limits[i] - has[i], o.told_now, first_at)
           FROM ledger.budget_windows b
          CROSS JOIN LATERAL ledger.open_buckets(b.span, b.time_zone, b.seconds, b.nos, b.sums, b.spent, b.told, now_at) o
          WHERE b.id = budgets[i] AND o.told_now < 7;
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

  IF guards IS NOT NULL THEN
    INSERT INTO ledger.guarded_payers (payer, since)
      SELECT DISTINCT touched[p.payer], first_at FROM unnest(guards, payers, verdicts) p (guard, payer, verdict)
       WHERE p.guard IS NOT NULL AND p.verdict = 'P' ORDER BY 1
      ON CONFLICT DO NOTHING;
    watched := ARRAY(SELECT w.payer FROM ledger.guarded_payers w WHERE w.payer = ANY (touched));
  END IF;
  IF cardinality(watched) > 0 THEN
    INSERT INTO ledger.guarded_payments (payer, recipient, amount, posted_at, type, has_reference, posting_id)
      SELECT touched[p.payer], p.recipient, p.amount, first_at + (p.n - 1) * step, p.type, p.ref IS NOT NULL, p.id
        FROM unnest(ids, types, payers, recipients, amounts, refs, verdicts) WITH ORDINALITY p (id, type, payer, recipient, amount, ref, verdict, n)
       WHERE p.verdict = 'P' AND p.recipient IS NOT NULL AND touched[p.payer] = ANY (watched);
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
  NULL::text[], NULL::text[], NULL::numeric[], NULL::numeric[], NULL::uuid[]);
-- That of 025.
DROP FUNCTION ledger.post(
  bigint[], bigint[], uuid[], text[], text[], bigint[], bigint[], bigint[], numeric[], numeric[], text[], text[],
  jsonb[], text[], text[], uuid[], uuid[], integer[], integer[], integer[], integer[], integer[], numeric[], bigint[], bigint[], integer[],
  integer[], numeric[], text[], text[], numeric[], numeric[]);

-- A record waits as a form, to which only what its commit decides is missing: chr(1) divides the form into four parts, after which come the
-- time, nothing, the handle of `payee` if there is one, and its number. The second part are the budgets: of a posting a beginning for each
-- one that it took from, by ascending id and divided by chr(2); otherwise the list. JSON escapes these two characters, so nobody
-- can write them into a record.
DO $$
BEGIN
  IF EXISTS (SELECT FROM decisions_waiting) THEN
    RAISE EXCEPTION 'decisions wait to be chained: start the build that you come from, and stop it when nothing is paid';
  END IF;
END $$;
ALTER TABLE decisions_waiting DROP COLUMN body, DROP COLUMN remaining,
  ADD COLUMN outcome text NOT NULL CHECK (outcome IN ('allow', 'deny', 'ask')),
  ADD COLUMN payee bigint,
  ADD COLUMN form text NOT NULL;
ALTER TABLE decision_heads SET (fillfactor = 50);

-- One anchor at a time on a chain, so that one that stands still costs one transaction, and does not keep another from being used.
DROP INDEX decision_anchors_open;
CREATE UNIQUE INDEX decision_anchors_open ON decision_anchors (chain) WHERE finished_at IS NULL;

-- The canonical text of every waiting record, without its number. Budgets have six decimals. OFFSET 0 has rows looked up by their keys,
-- whatever the planner knows of the tables; so in the functions below.
CREATE VIEW written_decisions AS
  SELECT w.ctid AS row, w.id, w.account_id, w.key_id, w.at, w.outcome,
         p.parts[1] || to_char(w.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '","budgets":'
           || CASE WHEN w.posting_id IS NULL THEN p.parts[2] ELSE b.list END || ',' || p.parts[3]
           || coalesce(to_json(a.handle)::text, '') || p.parts[4] AS text
    FROM decisions_waiting w
   CROSS JOIN LATERAL (SELECT string_to_array(w.form, chr(1)) AS parts OFFSET 0) p
    LEFT JOIN LATERAL (SELECT x.handle FROM accounts x WHERE x.id = w.payee OFFSET 0) a ON true
    LEFT JOIN LATERAL (SELECT x.amounts, x.remaining FROM ledger.spendings x WHERE x.posting_id = w.posting_id OFFSET 0) s ON true
   CROSS JOIN LATERAL (
     SELECT CASE WHEN count(*) = count(t.line) THEN '[' || coalesce(string_agg(t.line, ','), '') || ']' END AS list
       FROM (SELECT u.beginning || trim_scale(u.remaining * 0.000001) || '","remainingBefore":"'
                      || trim_scale((u.remaining + u.amount) * 0.000001) || '","taken":"' || trim_scale(u.amount * 0.000001) || '"}' AS line
               FROM unnest(string_to_array(p.parts[2], chr(2)), s.amounts, s.remaining) u (beginning, amount, remaining)
            ) t) b;

CREATE FUNCTION next_decision_head(before bytea, first bytea, hashed bytea) RETURNS bytea LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN sha256('\x03'::bytea || coalesce(before, first) || hashed);
END $$;
-- The heads of one chain, from the head before its first record here.
CREATE AGGREGATE decision_head(first bytea, hashed bytea) (sfunc = next_decision_head, stype = bytea);

-- Chains the oldest waiting records, each after the last one of its account. The caller holds the lock `decisions`, so the order of an
-- account is decided once. `longest` is how many records of one account no signed root covers.
CREATE FUNCTION chain_decisions(most integer, OUT chained bigint, OUT longest bigint) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
  grown bigint[];
  seqs bigint[];
  heads bytea[];
BEGIN
  WITH waiting AS MATERIALIZED (
    SELECT w.* FROM (SELECT d.id FROM public.decisions_waiting d ORDER BY d.id LIMIT most) o
     CROSS JOIN LATERAL (SELECT * FROM public.written_decisions v WHERE v.id = o.id OFFSET 0) w
  ), numbered AS (
    SELECT w.*, coalesce(h.seq, 0) + row_number() OVER (PARTITION BY w.account_id ORDER BY w.id) AS seq,
           coalesce(h.head, decode(repeat('00', 32), 'hex')) AS first
      FROM waiting w
      LEFT JOIN LATERAL (SELECT d.seq, d.head FROM public.decision_heads d WHERE d.account_id = w.account_id OFFSET 0) h ON true
  ), written AS (
    SELECT n.*, n.text || ',"seq":"' || n.seq || '"}' AS record FROM numbered n
  ), added AS (
    INSERT INTO public.policy_decisions (account_id, seq, id, key_id, outcome, at, record, head)
      SELECT w.account_id, w.seq, w.id, w.key_id, w.outcome, w.at, w.record,
             public.decision_head(w.first, sha256('\x02'::bytea || convert_to(w.record, 'UTF8')))
               OVER (PARTITION BY w.account_id ORDER BY w.seq)
        FROM written w
      RETURNING account_id, seq, head
  ), gone AS (
    DELETE FROM public.decisions_waiting w WHERE w.ctid = ANY (ARRAY(SELECT a.row FROM waiting a))
  ), newest AS (
    SELECT DISTINCT ON (a.account_id) a.account_id, a.seq, a.head FROM added a ORDER BY a.account_id, a.seq DESC
  )
  SELECT (SELECT count(*) FROM added), array_agg(n.account_id), array_agg(n.seq), array_agg(n.head) INTO chained, grown, seqs, heads
    FROM newest n;

  UPDATE public.decision_heads h SET seq = n.seq, head = n.head
    FROM (SELECT u.seq, u.head, (SELECT d.ctid FROM public.decision_heads d WHERE d.account_id = u.account_id OFFSET 0) AS row
            FROM unnest(grown, seqs, heads) u (account_id, seq, head)) n
   WHERE h.ctid = n.row;
  -- An account gets the next place with its first record, and a salt that nobody else knows.
  INSERT INTO public.decision_heads (account_id, place, salt, seq, head)
    SELECT n.account_id, coalesce((SELECT max(place) + 1 FROM public.decision_heads), 0) + row_number() OVER (ORDER BY n.account_id) - 1,
           uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()), n.seq, n.head
      FROM unnest(grown, seqs, heads) n (account_id, seq, head)
     WHERE (SELECT true FROM public.decision_heads d WHERE d.account_id = n.account_id OFFSET 0) IS NULL;
  SELECT coalesce(max(h.seq - h.sealed_seq), 0) INTO longest FROM public.decision_heads h WHERE h.account_id = ANY (grown);
END $$;

-- As in 030, but looked up by their keys, and by the only index that has both columns of a pair first.
CREATE OR REPLACE FUNCTION guard_waiting_decisions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM gone g WHERE NOT EXISTS (
    SELECT FROM public.policy_decisions d
     WHERE (d.account_id, d.id) >= (g.account_id, g.id) AND (d.account_id, d.id) <= (g.account_id, g.id) OFFSET 0))
  THEN
    RAISE EXCEPTION 'decision records are never removed before they are chained' USING ERRCODE = 'check_violation';
  END IF;
  RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION guard_decision_chain() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  wrong record;
BEGIN
  SELECT a.account_id, a.seq INTO wrong
    FROM added a
    LEFT JOIN LATERAL (SELECT p.seq, p.head FROM public.policy_decisions p
                        WHERE p.account_id = a.account_id AND p.seq = a.seq - 1 OFFSET 0) b ON true
   WHERE (b.seq IS NULL AND a.seq > 1)
      OR a.head <> sha256('\x03'::bytea || coalesce(b.head, decode(repeat('00', 32), 'hex'))
           || sha256('\x02'::bytea || convert_to(a.record, 'UTF8')))
   LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'record % of account % does not continue its chain', wrong.seq, wrong.account_id USING ERRCODE = 'check_violation';
  END IF;
  RETURN NULL;
END $$;

-- As in 030, but records wait as forms.
DROP FUNCTION ledger.post_decided;
CREATE FUNCTION ledger.post_decided(
  touched bigint[], unseen bigint[],
  ids uuid[], types text[], key_ids text[], senders bigint[], recipients bigint[],
  assets bigint[], amounts numeric[], fees numeric[], descriptions text[], refs text[], details jsonb[],
  sender_events text[], recipient_events text[],
  keys uuid[], request_digests uuid[],
  payers integer[], payees integer[], fees_to integer[],
  entry_postings integer[], entry_places integer[], entry_amounts numeric[],
  stamps bigint[], budgets bigint[], spend_postings integer[], spend_places integer[], spend_amounts numeric[],
  spent_on text[], returns_of text[], return_parts numeric[], return_wholes numeric[],
  guards uuid[],
  decision_places integer[], decision_ids uuid[], decision_payees bigint[], decision_forms text,
  OUT outcomes text, OUT first_at timestamptz, OUT earlier jsonb
) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
  SELECT p.outcomes, p.first_at, p.earlier INTO outcomes, first_at, earlier
    FROM ledger.post(touched, unseen, ids, types, key_ids, senders, recipients, assets, amounts, fees, descriptions, refs, details,
      sender_events, recipient_events, keys, request_digests, payers, payees, fees_to, entry_postings, entry_places, entry_amounts,
      stamps, budgets, spend_postings, spend_places, spend_amounts, spent_on, returns_of, return_parts, return_wholes, guards) p;
  IF position('P' IN outcomes) = 0 THEN RETURN; END IF;
  INSERT INTO public.decisions_waiting (id, account_id, key_id, at, posting_id, outcome, payee, form)
    SELECT d.id, senders[d.place], key_ids[d.place], first_at + (d.place - 1) * interval '1 microsecond', ids[d.place], 'allow', d.payee,
           d.form
      FROM unnest(decision_places, decision_ids, decision_payees, string_to_array(decision_forms, E'\n')) d (place, id, payee, form)
     WHERE substr(outcomes, d.place, 1) = 'P';
END $$;
