-- Accounts that their owners have closed. The ledger stays under the handle; what is known of the person goes.
-- serves_from: 35
ALTER TABLE accounts
  ADD COLUMN closed_at timestamptz,
  ADD CONSTRAINT accounts_closed_check CHECK (closed_at IS NULL OR (
    email IS NULL AND email_verified_at IS NULL AND phone IS NULL AND withdrawal_address IS NULL
    AND shipping_address IS NULL AND password_hash = ''));

CREATE INDEX accounts_closed ON accounts (id) WHERE closed_at IS NOT NULL;

-- An order that has ended never changes, except that the address of its buyer is erased when the account closes.
CREATE FUNCTION guard_erased_order() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.finished_at IS NULL
    OR to_jsonb(NEW) - 'shipping_address' IS DISTINCT FROM to_jsonb(OLD) - 'shipping_address'
  THEN
    RAISE EXCEPTION 'of order % only the address can be erased, once it has ended', OLD.id USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $$;
DROP TRIGGER orders_guard ON orders;
CREATE TRIGGER orders_guard BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION guard_saga('order');
CREATE TRIGGER orders_update_guard BEFORE UPDATE ON orders FOR EACH ROW
  WHEN (NOT NEW.shipping_address @> '{"name": "Erased"}' OR NEW.shipping_address = OLD.shipping_address)
  EXECUTE FUNCTION guard_saga('order');
CREATE TRIGGER orders_erasure_guard BEFORE UPDATE ON orders FOR EACH ROW
  WHEN (NEW.shipping_address @> '{"name": "Erased"}' AND NEW.shipping_address <> OLD.shipping_address)
  EXECUTE FUNCTION guard_erased_order();

-- An invoice that was paid never changes, except that the email of its payer is erased when the account closes.
CREATE FUNCTION guard_erased_invoice() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.status = 'pending' OR to_jsonb(NEW) - 'to_email' IS DISTINCT FROM to_jsonb(OLD) - 'to_email' THEN
    RAISE EXCEPTION 'of invoice % only the email can be erased, once it is paid', OLD.id USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $$;
DROP TRIGGER invoices_guard ON invoices;
CREATE TRIGGER invoices_guard BEFORE UPDATE ON invoices FOR EACH ROW
  WHEN (NOT (OLD.to_email IS NOT NULL AND NEW.to_email IS NULL)) EXECUTE FUNCTION guard_invoice();
CREATE TRIGGER invoices_erasure_guard BEFORE UPDATE ON invoices FOR EACH ROW
  WHEN (OLD.to_email IS NOT NULL AND NEW.to_email IS NULL) EXECUTE FUNCTION guard_erased_invoice();

-- As it was, and a payment that a key sends to an account that was closed is refused like one to an unknown account. A deposit and the
-- refund of an order are credited: the money belongs to the account.
--
-- Posts a batch: every posting is judged in order, on the balances that the ones before it have left, and gets one letter
-- in `outcomes`:
--   P posted   I insufficient balance   U unknown account   F frozen account   K key revoked or expired   D duplicate   M mismatch
-- `first_at` + n microseconds is the time of the n-th posting, counted from zero. `earlier` describes the first posting of
-- each duplicate.
--
-- Locks are taken in one order, so that batches of several instances and features' own transactions wait for one another
-- but never in a circle: new accounts rising (which takes the owner's row, as ledger.lock_owner does), then accounts
-- falling (the house's busy ones come last and are held shortest), then idempotency keys rising.
--
-- `touched` holds every account once, falling, and an entry names its account by its place there; `unseen` holds those that
-- may not exist yet. Entries are grouped by posting, counted from one. An array of which every element would be null may
-- be null itself.
CREATE OR REPLACE FUNCTION ledger.post(
  touched bigint[], unseen bigint[],
  ids uuid[], types text[], key_ids text[], senders bigint[], recipients bigint[],
  assets bigint[], amounts numeric[], fees numeric[], descriptions text[], refs text[], details jsonb[],
  sender_events text[], recipient_events text[],
  keys uuid[], request_digests uuid[],
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
  anyone_listens boolean;
  verdicts text[] := array_fill(NULL::text, ARRAY[n]);
  verdict text;
  afters numeric[] := array_fill(NULL::numeric, ARRAY[cardinality(entry_postings)]);
  after numeric;
  place integer;
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
         EXISTS (SELECT FROM ledger.event_subscriptions)
    INTO revoked, frozen, closed, repeated, anyone_listens;
  some_revoked := cardinality(revoked) > 0;
  some_frozen := cardinality(frozen) > 0;

  FOREACH place IN ARRAY repeated LOOP
    SELECT k.posting_id, k.request_digest INTO item FROM ledger.idempotency_keys k WHERE k.digest = keys[place];
    IF item.request_digest = request_digests[place] THEN
      verdicts[place] := 'D';
      earlier := coalesce(earlier, '[]') || ledger.describe(place, item.posting_id);
    ELSE
      verdicts[place] := 'M';
    END IF;
  END LOOP;
  IF refs IS NOT NULL THEN
    FOR item IN
      SELECT q.place, p.id FROM unnest(refs) WITH ORDINALITY q (ref, place)
       CROSS JOIN LATERAL (SELECT e.id FROM ledger.postings e WHERE e.reference = q.ref OFFSET 0) p
    LOOP
      CONTINUE WHEN verdicts[item.place] IS NOT NULL;
      verdicts[item.place] := 'D';
      earlier := coalesce(earlier, '[]') || ledger.describe(item.place::integer, item.id);
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
    IF verdict IS NULL THEN
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
    ELSE
      WHILE entry_postings[entry] = i LOOP entry := entry + 1; END LOOP;
    END IF;
    verdicts[i] := verdict;
  END LOOP;

  outcomes := array_to_string(verdicts, '');
  first_at := greatest(clock_timestamp(), last_at + step);
  IF posted = 0 THEN RETURN; END IF;
  IF posted < n THEN
    moved := array_fill(false, ARRAY[cardinality(touched)]);
    FOR i IN 1 .. cardinality(entry_places) LOOP
      IF afters[i] IS NOT NULL THEN moved[entry_places[i]] := true; END IF;
    END LOOP;
  END IF;

  INSERT INTO ledger.postings (id, posted_at, type, sender_id, recipient_id, asset, amount, fee, description, reference,
      details)
    SELECT p.id, first_at + (p.n - 1) * step, p.type, p.sender, p.recipient, p.asset, p.amount, p.fee, p.description,
        p.ref, p.details
      FROM unnest(ids, types, senders, recipients, assets, amounts, fees, descriptions, refs, details, verdicts)
        WITH ORDINALITY p (id, type, sender, recipient, asset, amount, fee, description, ref, details, verdict, n)
     WHERE p.verdict = 'P';

  INSERT INTO ledger.entries (account_id, posted_at, posting_id, amount, balance_after)
    SELECT touched[e.place], first_at + (e.posting - 1) * step, ids[e.posting], e.amount, e.after
      FROM unnest(entry_postings, entry_places, entry_amounts, afters) e (posting, place, amount, after)
     WHERE e.after IS NOT NULL;

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

  IF anyone_listens THEN
    INSERT INTO ledger.events (id, account_id, type, posting_id, created_at)
      SELECT ledger.new_id(first_at), e.owner, e.type, p.id, first_at + (p.n - 1) * step
        FROM unnest(ids, senders, recipients, sender_events, recipient_events, verdicts)
          WITH ORDINALITY p (id, sender, recipient, sender_event, recipient_event, verdict, n)
       CROSS JOIN LATERAL (VALUES (p.sender, p.sender_event), (p.recipient, p.recipient_event)) e (owner, type)
       WHERE p.verdict = 'P'
         AND EXISTS (SELECT FROM ledger.event_subscriptions s WHERE s.account_id = e.owner AND s.type = e.type);
  END IF;
END $$;
