-- serves_from: 16
-- Selling a call costs the database less: one statement claims all waiting payments, marking a call as served writes to
-- no index, and the form of addresses and signatures is checked in a tenth of the time.

-- A bounded repetition such as {130} makes the expression slow: 49 µs for a signature, instead of 2.
ALTER TABLE payers
  DROP CONSTRAINT payers_token_check, DROP CONSTRAINT payers_address_check,
  ADD CONSTRAINT payers_token_check CHECK (length(token) = 42 AND token ~ '^0x[0-9a-f]*$'),
  ADD CONSTRAINT payers_address_check CHECK (length(address) = 42 AND address ~ '^0x[0-9a-f]*$');
ALTER TABLE payment_claims
  DROP CONSTRAINT payment_claims_token_check, DROP CONSTRAINT payment_claims_payer_check,
  DROP CONSTRAINT payment_claims_nonce_check, DROP CONSTRAINT payment_claims_pay_to_check,
  DROP CONSTRAINT payment_claims_signature_check, DROP CONSTRAINT payment_claims_tx_hash_check,
  ADD CONSTRAINT payment_claims_token_check CHECK (length(token) = 42 AND token ~ '^0x[0-9a-f]*$'),
  ADD CONSTRAINT payment_claims_payer_check CHECK (length(payer) = 42 AND payer ~ '^0x[0-9a-f]*$'),
  ADD CONSTRAINT payment_claims_nonce_check CHECK (length(nonce) = 66 AND nonce ~ '^0x[0-9a-f]*$'),
  ADD CONSTRAINT payment_claims_pay_to_check CHECK (length(pay_to) = 42 AND pay_to ~ '^0x[0-9a-f]*$'),
  ADD CONSTRAINT payment_claims_signature_check CHECK (length(signature) = 132 AND signature ~ '^0x[0-9a-f]*$'),
  ADD CONSTRAINT payment_claims_tx_hash_check CHECK (length(tx_hash) = 66 AND tx_hash ~ '^0x[0-9a-f]*$');

-- Serving a call changes `served_at`, `answer` and `leased_until`. While no index mentions them and the page has room,
-- the new version of the row needs no entry in any index. Leased payments are found among the open ones.
ALTER TABLE payment_claims SET (fillfactor = 50);
DROP INDEX payment_claims_leased, payment_claims_answered, payment_claims_unearned;
CREATE INDEX payment_claims_unearned ON payment_claims (chain, asset)
  WHERE arrived_at IS NOT NULL AND earned_at IS NULL AND written_off_at IS NULL;
ALTER TABLE payment_claims ADD COLUMN answer_deleted boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN payment_claims.answer_deleted IS 'It was served, and its answer is no longer kept.';
CREATE INDEX payment_claims_answered ON payment_claims (claimed_at) WHERE NOT answer_deleted AND lapsed_at IS NULL;

-- The rule is in the function. The condition spares most updates the call.
CREATE OR REPLACE TRIGGER payment_claims_guard BEFORE UPDATE ON payment_claims FOR EACH ROW
  WHEN ((OLD.id, OLD.protocol, OLD.chain, OLD.token, OLD.asset, OLD.payer, OLD.nonce, OLD.pay_to, OLD.atomic,
      OLD.valid_after, OLD.valid_before, OLD.signature, OLD.identifier, OLD.prepaid, OLD.clears_debt, OLD.resource,
      OLD.fingerprint)
    IS DISTINCT FROM
     (NEW.id, NEW.protocol, NEW.chain, NEW.token, NEW.asset, NEW.payer, NEW.nonce, NEW.pay_to, NEW.atomic,
      NEW.valid_after, NEW.valid_before, NEW.signature, NEW.identifier, NEW.prepaid, NEW.clears_debt, NEW.resource,
      NEW.fingerprint)
    OR (OLD.served_at IS NOT NULL AND OLD.served_at IS DISTINCT FROM NEW.served_at)
    OR (OLD.arrived_at IS NOT NULL AND OLD.arrived_at IS DISTINCT FROM NEW.arrived_at)
    OR (OLD.earned_at IS NOT NULL AND OLD.earned_at IS DISTINCT FROM NEW.earned_at))
  EXECUTE FUNCTION guard_payment_claim();
CREATE TRIGGER payment_claims_guard_delete BEFORE DELETE ON payment_claims
  FOR EACH ROW EXECUTE FUNCTION guard_payment_claim();

-- New payments are counted once for each statement and payer. `count_payment_claim` counts all other changes.
CREATE FUNCTION count_new_payment_claims() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE payers p SET credit = p.credit + n.credit, prepaying = p.prepaying + n.prepaying,
      open_calls = p.open_calls + n.calls
    FROM (SELECT chain, token, payer, coalesce(sum(atomic) FILTER (WHERE NOT prepaid), 0) AS credit,
            coalesce(sum(atomic) FILTER (WHERE prepaid), 0) AS prepaying, count(*) FILTER (WHERE NOT prepaid) AS calls
            FROM added WHERE arrived_at IS NULL AND written_off_at IS NULL AND lapsed_at IS NULL GROUP BY 1, 2, 3) n
    WHERE p.chain = n.chain AND p.token = n.token AND p.address = n.payer;
  RETURN NULL;
END $$;
CREATE TRIGGER payment_claims_count_new AFTER INSERT ON payment_claims REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_new_payment_claims();
CREATE OR REPLACE TRIGGER payment_claims_count AFTER DELETE OR UPDATE OF arrived_at, written_off_at, lapsed_at
  ON payment_claims FOR EACH ROW EXECUTE FUNCTION count_payment_claim();

-- Claims many payments, as `claim_payment` (018_x402_open_calls.sql) would one after the other, and returns one outcome
-- for each, in order. New payers are added first and then all payers are locked, both in one order, so that two calls
-- cannot deadlock. A payer whose payments are all new is judged from its row. The payments of any other payer go to
-- `claim_payment`: known payments, taken identifiers, payments of debts, our own wallets.
CREATE FUNCTION claim_payments(
  ids text[], protocols text[], chains text[], tokens text[], assets text[], senders text[], checksummed text[],
  nonces text[], pay_tos text[], atomics numeric[], valid_afters numeric[], valid_befores numeric[], signatures text[],
  resources text[], fingerprints bytea[], identifiers text[], elsewheres boolean[], holders uuid[],
  lease_seconds numeric,
  most_credits numeric[], funds numeric[], settled_befores numeric[], clearings boolean[]
) RETURNS TABLE (outcome text, claim_id text) LANGUAGE plpgsql AS $$
DECLARE
  item record;
  alone record;
  -- The payer of the item, and what its payments up to here make of its row.
  credit numeric;
  prepaying numeric;
  open_calls bigint;
  must_arrive boolean;
  outcomes text[] := array_fill(NULL::text, ARRAY[cardinality(ids)]);
  claim_ids text[] := outcomes;
  -- Null for what is not added below.
  prepaids boolean[] := array_fill(NULL::boolean, ARRAY[cardinality(ids)]);
BEGIN
  FOR item IN
    SELECT DISTINCT g.chain, g.token, g.payer, g.checksum FROM unnest(chains, tokens, senders, checksummed)
        g (chain, token, payer, checksum)
      WHERE NOT EXISTS (SELECT FROM payers p WHERE p.chain = g.chain AND p.token = g.token AND p.address = g.payer)
      ORDER BY 1, 2, 3
  LOOP
    CONTINUE WHEN EXISTS (SELECT FROM house_wallets h WHERE h.address IN (item.payer, item.checksum))
      OR EXISTS (SELECT FROM wallets w WHERE w.address IN (item.payer, item.checksum));
    INSERT INTO payers (chain, token, address) VALUES (item.chain, item.token, item.payer) ON CONFLICT DO NOTHING;
  END LOOP;
  PERFORM FROM payers p
    WHERE (p.chain, p.token, p.address) IN (SELECT * FROM unnest(chains, tokens, senders))
    ORDER BY p.chain, p.token, p.address FOR UPDATE;

  FOR item IN
    SELECT n.*, bool_or(n.is_special) OVER payer AS goes_alone, row_number() OVER payer = 1 AS is_first
      FROM (
        SELECT g.*, p.credit, p.prepaying, p.open_calls, p.arrivals, p.settled,
            p.failed_since IS NOT NULL OR p.debt > 0 AS in_debt,
            p.address IS NULL OR g.clears OR count(*) OVER (PARTITION BY g.chain, g.token, g.payer, g.nonce) > 1
              -- Not EXISTS, which may be planned to read the whole table.
              OR (SELECT c.id FROM payment_claims c WHERE c.chain = g.chain AND c.token = g.token AND c.payer = g.payer
                AND c.nonce = g.nonce) IS NOT NULL
              OR (g.identifier IS NOT NULL AND (
                count(*) OVER (PARTITION BY g.chain, g.token, g.payer, g.identifier) > 1
                OR (SELECT c.id FROM payment_claims c WHERE c.chain = g.chain AND c.token = g.token
                  AND c.payer = g.payer AND c.identifier = g.identifier) IS NOT NULL)) AS is_special
          FROM unnest(chains, tokens, senders, nonces, identifiers, atomics, elsewheres, clearings, most_credits, funds,
              settled_befores) WITH ORDINALITY g (chain, token, payer, nonce, identifier, atomic, elsewhere, clears,
              most_credit, funds, settled_before, place)
          LEFT JOIN payers p ON p.chain = g.chain AND p.token = g.token AND p.address = g.payer
      ) n
      WINDOW payer AS (PARTITION BY n.chain, n.token, n.payer ORDER BY n.place
        ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
      ORDER BY n.chain, n.token, n.payer, n.place
  LOOP
    IF item.goes_alone THEN
      SELECT c.outcome, c.claim_id INTO alone
        FROM claim_payment(ids[item.place], protocols[item.place], item.chain, item.token, assets[item.place],
          item.payer, checksummed[item.place], item.nonce, pay_tos[item.place], item.atomic, valid_afters[item.place],
          valid_befores[item.place], signatures[item.place], resources[item.place], fingerprints[item.place],
          item.identifier, item.elsewhere, holders[item.place], lease_seconds, item.most_credit, item.funds,
          item.settled_before, item.clears) c;
      outcomes[item.place] := alone.outcome;
      claim_ids[item.place] := alone.claim_id;
      CONTINUE;
    END IF;
    IF item.is_first THEN
      credit := item.credit;
      prepaying := item.prepaying;
      open_calls := item.open_calls;
    END IF;
    IF item.in_debt THEN
      outcomes[item.place] := 'in_debt';
    ELSIF NOT item.elsewhere
      AND credit + prepaying + (item.settled - item.settled_before) + item.atomic > item.funds
    THEN
      outcomes[item.place] := 'short';
    ELSE
      must_arrive := item.elsewhere OR credit + item.atomic > item.most_credit OR open_calls >= 10 + item.arrivals;
      IF must_arrive THEN
        prepaying := prepaying + item.atomic;
      ELSE
        credit := credit + item.atomic;
        open_calls := open_calls + 1;
      END IF;
      outcomes[item.place] := CASE WHEN item.elsewhere OR NOT must_arrive THEN 'claimed' ELSE 'prepaid' END;
      claim_ids[item.place] := ids[item.place];
      prepaids[item.place] := must_arrive;
    END IF;
  END LOOP;

  INSERT INTO payment_claims (id, protocol, chain, token, asset, payer, nonce, pay_to, atomic, valid_after,
      valid_before, signature, resource, fingerprint, identifier, prepaid, submitted_elsewhere, clears_debt, holder, leased_until)
    SELECT g.id, g.protocol, g.chain, g.token, g.asset, g.payer, g.nonce, g.pay_to, g.atomic, g.valid_after,
        g.valid_before, g.signature, g.resource, g.fingerprint, g.identifier, g.prepaid, g.elsewhere, false,
        CASE WHEN g.outcome = 'claimed' THEN g.holder END,
        CASE WHEN g.outcome = 'claimed'
          THEN clock_timestamp() + make_interval(secs => lease_seconds::double precision) END
      FROM unnest(ids, protocols, chains, tokens, assets, senders, nonces, pay_tos, atomics, valid_afters,
          valid_befores, signatures, resources, fingerprints, identifiers, prepaids, elsewheres, holders, outcomes)
        g (id, protocol, chain, token, asset, payer, nonce, pay_to, atomic, valid_after, valid_before, signature,
          resource, fingerprint, identifier, prepaid, elsewhere, holder, outcome)
      WHERE g.prepaid IS NOT NULL;
  RETURN QUERY SELECT * FROM unnest(outcomes, claim_ids);
END $$;
