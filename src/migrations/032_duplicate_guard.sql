-- Payments that repeat another one are refused where the caller or the account asks for it.
-- serves_from: 16

ALTER TABLE accounts ADD COLUMN duplicate_guard boolean NOT NULL DEFAULT false;

-- What an account did in the last ten minutes. Withdrawals have such an index.
CREATE INDEX bridges_by_time ON bridges (account_id, created_at);
CREATE INDEX swaps_by_time ON swaps (account_id, created_at);

-- As in 025, but with a guard, which earlier builds leave out.
DROP FUNCTION ledger.post_one;
CREATE FUNCTION ledger.post_one(
  payer bigint, payee bigint, fee_to bigint, posting_id uuid, type text, key_id text, sender bigint, recipient bigint,
  asset bigint, amount numeric, fee numeric, description text, sender_event text, recipient_event text, key uuid,
  request_digest uuid, judged_by bigint, guard uuid DEFAULT NULL,
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
  is_watched boolean;
  recently timestamptz;
  updated integer;
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'a posting must see what was committed before it got its locks: use READ COMMITTED';
  END IF;

  SELECT array_agg(l.balance), array_agg(l.ctid), max(l.posted_at) INTO balances, rows, last_at
    FROM (SELECT a.ctid, a.balance, a.posted_at FROM ledger.accounts a
           WHERE a.id IN (payer, payee, fee_to) ORDER BY a.id DESC FOR NO KEY UPDATE) l;

  recently := clock_timestamp() - interval '10 minutes';
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
                       WHERE s.account_id = sender AND s.stamp <> coalesce(judged_by, 0) AND key_id IS NOT NULL)
      AND (guard IS NULL
        OR NOT EXISTS (SELECT FROM ledger.guarded_payments g
                        WHERE g.payer = post_one.payer AND g.recipient = post_one.recipient AND g.amount = post_one.amount
                          AND g.posted_at > recently AND g.type = post_one.type AND g.posting_id <> guard)
           AND (EXISTS (SELECT FROM ledger.guarded_payers w WHERE w.payer = post_one.payer AND w.since <= recently)
                OR NOT EXISTS (SELECT FROM ledger.postings p
                                WHERE p.payer = post_one.payer AND p.posted_at > recently AND p.type = post_one.type
                                  AND p.recipient_id = post_one.recipient AND p.amount = post_one.amount AND p.id <> guard))),
      EXISTS (SELECT FROM ledger.event_subscriptions s WHERE s.account_id = sender AND s.type = sender_event),
      EXISTS (SELECT FROM ledger.event_subscriptions s WHERE s.account_id = recipient AND s.type = recipient_event),
      EXISTS (SELECT FROM ledger.guarded_payers w WHERE w.payer = post_one.payer)
    INTO is_usual, tells_sender, tells_recipient, is_watched;

  IF is_usual IS NOT TRUE THEN
    SELECT p.outcomes, p.first_at, p.earlier INTO outcomes, first_at, earlier FROM ledger.post(
      array_remove(ARRAY[greatest(payer, payee), least(payer, payee), fee_to], NULL), NULL,
      ARRAY[posting_id], ARRAY[type], ARRAY[key_id], ARRAY[sender], ARRAY[recipient], ARRAY[asset], ARRAY[amount],
      ARRAY[fee], ARRAY[description], NULL, NULL, ARRAY[sender_event], ARRAY[recipient_event],
      CASE WHEN key IS NOT NULL THEN ARRAY[key] END, CASE WHEN key IS NOT NULL THEN ARRAY[request_digest] END,
      ARRAY[payer_place], ARRAY[payee_place], CASE WHEN has_fee THEN ARRAY[3] END, NULL, NULL, NULL, ARRAY[judged_by], NULL,
      NULL, NULL, NULL, NULL, NULL, NULL, NULL, CASE WHEN guard IS NOT NULL THEN ARRAY[guard] END) p;
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
  IF guard IS NOT NULL AND NOT is_watched THEN
    INSERT INTO ledger.guarded_payers (payer, since) VALUES (payer, first_at);
  END IF;
  IF (guard IS NOT NULL OR is_watched) AND recipient IS NOT NULL THEN
    INSERT INTO ledger.guarded_payments (payer, recipient, amount, posted_at, type, has_reference, posting_id)
      VALUES (payer, recipient, amount, first_at, type, false, posting_id);
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
