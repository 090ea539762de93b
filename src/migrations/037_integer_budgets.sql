-- Budgets count in integers, which PostgreSQL reads, computes and writes sooner than numerics.
-- serves_from: 16

-- Budgets have six decimals, and amounts are at most 900 million tokens: they fit.
LOCK TABLE ledger.budgets, ledger.budget_counts, ledger.spendings, decisions_waiting IN ACCESS EXCLUSIVE MODE;
DROP VIEW written_decisions;
DROP VIEW ledger.budget_windows;
DROP TRIGGER budget_counts_never_overspent ON ledger.budget_counts;
ALTER TABLE ledger.budget_counts
  ALTER COLUMN most TYPE bigint, ALTER COLUMN spent TYPE bigint, ALTER COLUMN in_bucket TYPE bigint;
ALTER TABLE ledger.spendings ALTER COLUMN amounts TYPE bigint[], ALTER COLUMN remaining TYPE bigint[];
CREATE TRIGGER budget_counts_never_overspent BEFORE UPDATE ON ledger.budget_counts FOR EACH ROW
  WHEN (NEW.spent > NEW.most AND NEW.spent > OLD.spent) EXECUTE FUNCTION ledger.refuse_overspending();
ALTER TABLE ledger.budget_counts ENABLE ALWAYS TRIGGER budget_counts_never_overspent;

-- As in 031.
CREATE VIEW ledger.budget_windows AS
  SELECT b.id, b.account_id, b.place, b.name, b.currency, b.span, b.time_zone, b.seconds, b.most, b.on_exceed, b.is_active, b.told,
         CASE WHEN c.bucket IS NULL THEN b.nos ELSE b.nos || c.bucket END AS nos,
         CASE WHEN c.bucket IS NULL THEN b.sums ELSE b.sums || c.in_bucket::numeric END AS sums, c.spent::numeric AS spent
    FROM ledger.budgets b JOIN ledger.budget_counts c ON c.budget = b.id;

-- As in 036.
CREATE VIEW written_decisions AS
  SELECT w.ctid AS row, w.id, w.account_id, coalesce(w.key_id, t.key_id) AS key_id, w.at, w.outcome,
         p.parts[1] || to_char(w.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '","budgets":'
           || CASE WHEN w.posting_id IS NULL THEN p.parts[2] ELSE b.list END || ',' || p.parts[3]
           || coalesce(to_json(a.handle)::text, '') || p.parts[4] AS text
    FROM decisions_waiting w
    LEFT JOIN LATERAL (SELECT x.key_id, string_to_array(x.form, chr(3)) AS fixed, string_to_array(w.parts, chr(3)) AS given
                         FROM decision_templates x WHERE x.id = w.template OFFSET 0) t ON true
   CROSS JOIN LATERAL (
     SELECT string_to_array(coalesce(w.form, t.fixed[1] || t.given[1] || t.fixed[2] || t.given[2] || t.fixed[3] || t.given[3]
              || t.fixed[4] || t.given[4] || t.fixed[5] || t.given[5] || t.fixed[6]), chr(1)) AS parts OFFSET 0) p
    LEFT JOIN LATERAL (SELECT x.handle FROM accounts x WHERE x.id = w.payee OFFSET 0) a ON true
    LEFT JOIN LATERAL (SELECT x.amounts, x.remaining FROM ledger.spendings x WHERE x.posting_id = w.posting_id OFFSET 0) s ON true
   CROSS JOIN LATERAL (
     SELECT CASE WHEN count(*) = count(t.line) THEN '[' || coalesce(string_agg(t.line, ','), '') || ']' END AS list
       FROM (SELECT u.beginning || trim_scale(u.remaining * 0.000001) || '","remainingBefore":"'
                      || trim_scale((u.remaining + u.amount) * 0.000001) || '","taken":"' || trim_scale(u.amount * 0.000001) || '"}' AS line
               FROM unnest(string_to_array(p.parts[2], chr(2)), s.amounts, s.remaining) u (beginning, amount, remaining)
            ) t) b;

-- Payments go on before `migrate` has granted the new views to the service's role.
DO $$
DECLARE
  given record;
BEGIN
  FOR given IN
    SELECT DISTINCT pg_get_userbyid(a.grantee) AS role FROM pg_class c, aclexplode(c.relacl) a
     WHERE c.oid = 'ledger.postings'::regclass AND a.privilege_type = 'INSERT' AND a.grantee NOT IN (0, c.relowner)
  LOOP
    EXECUTE format('GRANT SELECT ON ledger.budget_windows, written_decisions TO %I', given.role);
  END LOOP;
END $$;

-- As in 031, with integers.
CREATE OR REPLACE FUNCTION ledger.post(
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
  some_closed boolean;
  -- Whether any may be stale, or takes of a budget.
  is_bounded boolean;
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
  some_stamped boolean;
  watched bigint[];
  settled bigint[];
  stale integer[];
  -- Of each budget: where its row is, its current bucket and when that ends, its limit, and what remained of it and remains.
  budget_rows tid[];
  currents bigint[];
  untils timestamptz[];
  limits bigint[];
  had bigint[];
  has bigint[];
  takes CONSTANT bigint[] := spend_amounts::bigint[];
  -- Of each spend: what it leaves of its budget. Null where nothing was posted.
  lefts bigint[] := array_fill(NULL::bigint, ARRAY[coalesce(cardinality(spend_postings), 0)]);
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
         -- Who has budgets has a stamp.
         budgets IS NOT NULL OR EXISTS (SELECT FROM public.key_stamps s WHERE s.account_id = ANY (senders)),
         ARRAY(SELECT w.payer FROM ledger.guarded_payers w WHERE w.payer = ANY (touched))
    INTO revoked, frozen, closed, repeated, listeners, some_stamped, watched;
  IF some_stamped THEN
    stale := ARRAY(SELECT q.place FROM unnest(senders, stamps, key_ids) WITH ORDINALITY q (sender, stamp, key_id, place)
                    CROSS JOIN LATERAL (SELECT k.stamp FROM public.key_stamps k WHERE k.account_id = q.sender OFFSET 0) s
                    WHERE q.key_id IS NOT NULL AND s.stamp <> coalesce(q.stamp, 0));
  END IF;
  IF budgets IS NOT NULL THEN
    SELECT array_agg(c.ctid), array_agg(c.bucket), array_agg(c.bucket_until), array_agg(c.most), array_agg(c.most - c.spent)
      INTO budget_rows, currents, untils, limits, has
      FROM (SELECT b.ctid, b.bucket, b.bucket_until, b.most, b.spent FROM ledger.budget_counts b
             WHERE b.budget = ANY (budgets) ORDER BY b.budget) c;
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
  some_closed := cardinality(closed) > 0;
  is_bounded := budgets IS NOT NULL OR some_stamped;

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
    IF some_closed AND verdict IS NULL AND key_ids[i] IS NOT NULL AND recipients[i] = ANY (closed)
      AND senders[i] IS DISTINCT FROM recipients[i] AND types[i] <> 'order_refund'
    THEN
      verdict := 'U';
    END IF;
    IF is_bounded THEN
      denied := CASE WHEN i = ANY (stale) THEN 'S' END;
      first_spend := spend;
      WHILE spend_postings[spend] = i LOOP
        place := spend_places[spend];
        IF takes[spend] > has[place] AND denied IS NULL THEN denied := 'B'; END IF;
        spend := spend + 1;
      END LOOP;
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
    CONTINUE WHEN NOT is_bounded;
    IF verdict = 'P' THEN
      FOR taking IN first_spend .. spend - 1 LOOP
        place := spend_places[taking];
        has[place] := has[place] - takes[taking];
        lefts[taking] := has[place];
      END LOOP;
    ELSIF verdict = 'B' THEN
      earlier := coalesce(earlier, '[]') || jsonb_build_object('place', i, 'exceeded', ARRAY(
        SELECT ledger.describe_exceeded(budgets[spend_places[s]], currents[spend_places[s]],
            has[spend_places[s]], had[spend_places[s]] - has[spend_places[s]])
          FROM generate_series(first_spend, spend - 1) s WHERE takes[s] > has[spend_places[s]] ORDER BY s));
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
        FROM (SELECT * FROM unnest(spend_postings, spend_places, takes, lefts) t (posting, place, amount, remaining)
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
    IF updated <> (CASE WHEN posted = n THEN cardinality(budgets)
                        ELSE (SELECT count(*) FROM unnest(had, has) t (had, has) WHERE t.has < t.had) END)
    THEN
      RAISE EXCEPTION 'only % of the budgets were written', updated;
    END IF;
    FOR item IN
      SELECT t.n FROM unnest(limits, had, has) WITH ORDINALITY t (most, had, has, n)
       WHERE t.has <= t.most - t.has AND t.has < t.had ORDER BY t.n
    LOOP
      PERFORM ledger.tell_thresholds(b.id, currents[item.n], limits[item.n] - has[item.n], o.told_now, first_at)
         FROM ledger.budget_windows b
        CROSS JOIN LATERAL ledger.open_buckets(b.span, b.time_zone, b.seconds, b.nos, b.sums, b.spent, b.told, now_at) o
        WHERE b.id = budgets[item.n] AND o.told_now < 7;
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
