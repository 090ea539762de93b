-- serves_from: 16
-- How many payments a payer has open is a number in its row. Counting them with every claim took longer the more were
-- open.

-- What is counted below must not change meanwhile, nor be counted by the function of before.
LOCK TABLE payment_claims IN SHARE ROW EXCLUSIVE MODE;

ALTER TABLE payers ADD COLUMN open_calls bigint NOT NULL DEFAULT 0 CHECK (open_calls >= 0);
COMMENT ON COLUMN payers.open_calls IS 'How many payments `credit` consists of.';

UPDATE payers p SET open_calls = c.open
  FROM (SELECT chain, token, payer, count(*) AS open FROM payment_claims
         WHERE NOT prepaid AND arrived_at IS NULL AND written_off_at IS NULL AND lapsed_at IS NULL GROUP BY 1, 2, 3) c
 WHERE (p.chain, p.token, p.address) = (c.chain, c.token, c.payer);

-- As in 014_x402_sell.sql, and counts `open_calls`.
CREATE OR REPLACE FUNCTION count_payment_claim() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  before numeric := 0;
  after numeric := 0;
  arrived integer := 0;
  more_credit numeric;
  more_prepaying numeric;
  more_calls integer;
  claim payment_claims%ROWTYPE;
BEGIN
  IF TG_OP = 'DELETE' THEN claim := OLD; ELSE claim := NEW; END IF;
  IF TG_OP <> 'INSERT' AND OLD.arrived_at IS NULL AND OLD.written_off_at IS NULL AND OLD.lapsed_at IS NULL THEN
    before := OLD.atomic;
  END IF;
  IF TG_OP <> 'DELETE' AND NEW.arrived_at IS NULL AND NEW.written_off_at IS NULL AND NEW.lapsed_at IS NULL THEN
    after := NEW.atomic;
  END IF;
  IF TG_OP = 'UPDATE' AND OLD.arrived_at IS NULL AND NEW.arrived_at IS NOT NULL THEN
    arrived := 1;
  END IF;
  IF before <> after OR arrived = 1 THEN
    more_credit := CASE WHEN claim.prepaid THEN 0 ELSE after - before END;
    more_prepaying := CASE WHEN claim.prepaid THEN after - before ELSE 0 END;
    more_calls := CASE WHEN claim.prepaid THEN 0 ELSE sign(after)::integer - sign(before)::integer END;
    UPDATE payers SET credit = credit + more_credit, prepaying = prepaying + more_prepaying,
        open_calls = open_calls + more_calls, settled = settled + arrived * claim.atomic,
        arrivals = arrivals + arrived,
        failed_since = CASE WHEN credit + more_credit > 0 OR prepaying + more_prepaying > 0 THEN failed_since END
      WHERE chain = claim.chain AND token = claim.token AND address = claim.payer;
  END IF;
  RETURN NULL;
END $$;

-- As in 014_x402_sell.sql, which says what it returns, and reads `open_calls`.
CREATE OR REPLACE FUNCTION claim_payment(
  new_id text, new_protocol text, new_chain text, new_token text, new_asset text, new_payer text, payer_checksummed text,
  new_nonce text, new_pay_to text, new_atomic numeric, new_valid_after numeric, new_valid_before numeric, new_signature text,
  new_resource text, new_fingerprint bytea, new_identifier text, elsewhere boolean, new_holder uuid, lease_seconds numeric,
  most_credit numeric, funds numeric, settled_before numeric, clears boolean
) RETURNS TABLE (outcome text, claim_id text) LANGUAGE plpgsql AS $$
DECLARE
  who payers%ROWTYPE;
  known payment_claims%ROWTYPE;
  must_arrive boolean;
BEGIN
  SELECT * INTO who FROM payers WHERE chain = new_chain AND token = new_token AND address = new_payer FOR UPDATE;
  IF NOT FOUND THEN
    -- Whoever pays here for the first time. A wallet that is made later has a key that nobody had before.
    IF EXISTS (SELECT FROM house_wallets h WHERE h.address IN (new_payer, payer_checksummed))
      OR EXISTS (SELECT FROM wallets w WHERE w.address IN (new_payer, payer_checksummed))
    THEN
      RETURN QUERY SELECT 'ours'::text, NULL::text;
      RETURN;
    END IF;
    INSERT INTO payers (chain, token, address) VALUES (new_chain, new_token, new_payer) ON CONFLICT DO NOTHING;
    SELECT * INTO who FROM payers WHERE chain = new_chain AND token = new_token AND address = new_payer FOR UPDATE;
  END IF;

  SELECT * INTO known FROM payment_claims c
   WHERE c.chain = new_chain AND c.token = new_token AND c.payer = new_payer AND c.nonce = new_nonce;
  IF FOUND THEN
    -- Whoever was serving it is gone, or has failed: this request serves it now. What has arrived and was served nothing may serve
    -- another request of the same price.
    IF known.served_at IS NULL AND known.lapsed_at IS NULL AND (NOT known.prepaid OR known.arrived_at IS NOT NULL)
      AND (known.fingerprint = new_fingerprint OR (known.arrived_at IS NOT NULL AND known.atomic = new_atomic
        AND known.signature = new_signature AND NOT known.clears_debt AND NOT clears))
      AND (known.leased_until IS NULL OR known.leased_until <= clock_timestamp())
    THEN
      UPDATE payment_claims SET holder = new_holder, resource = new_resource, fingerprint = new_fingerprint,
          leased_until = clock_timestamp() + make_interval(secs => lease_seconds::double precision)
        WHERE id = known.id AND served_at IS NULL;
      RETURN QUERY SELECT CASE WHEN FOUND THEN 'claimed' ELSE 'known' END, known.id;
      RETURN;
    END IF;
    RETURN QUERY SELECT 'known'::text, known.id;
    RETURN;
  END IF;
  IF new_identifier IS NOT NULL AND EXISTS (
    SELECT FROM payment_claims c WHERE c.chain = new_chain AND c.token = new_token AND c.payer = new_payer
       AND c.identifier = new_identifier)
  THEN
    RETURN QUERY SELECT 'identifier_taken'::text, NULL::text;
    RETURN;
  END IF;
  IF clears THEN
    IF new_atomic <= 0 OR new_atomic + coalesce((SELECT sum(c.atomic) FROM payment_claims c
        WHERE c.chain = new_chain AND c.token = new_token AND c.payer = new_payer AND c.clears_debt
          AND c.arrived_at IS NULL AND c.written_off_at IS NULL AND c.lapsed_at IS NULL), 0) > who.debt
    THEN
      RETURN QUERY SELECT 'not_owed'::text, NULL::text;
      RETURN;
    END IF;
  ELSIF who.failed_since IS NOT NULL OR who.debt > 0 THEN
    RETURN QUERY SELECT 'in_debt'::text, NULL::text;
    RETURN;
  END IF;
  -- What has arrived since the balance was read was part of that balance.
  IF NOT elsewhere AND who.credit + who.prepaying + (who.settled - settled_before) + new_atomic > funds THEN
    RETURN QUERY SELECT 'short'::text, NULL::text;
    RETURN;
  END IF;

  -- What somebody else submits is served when they say that it is settled, and else when it has arrived.
  must_arrive := elsewhere OR clears OR who.credit + new_atomic > most_credit
    OR who.open_calls >= 10 + who.arrivals;
  INSERT INTO payment_claims (id, protocol, chain, token, asset, payer, nonce, pay_to, atomic, valid_after, valid_before,
      signature, resource, fingerprint, identifier, prepaid, submitted_elsewhere, clears_debt, holder, leased_until)
    VALUES (new_id, new_protocol, new_chain, new_token, new_asset, new_payer, new_nonce, new_pay_to, new_atomic,
      new_valid_after, new_valid_before, new_signature, new_resource, new_fingerprint, new_identifier, must_arrive, elsewhere,
      clears, CASE WHEN elsewhere OR NOT must_arrive THEN new_holder END,
      CASE WHEN elsewhere OR NOT must_arrive THEN clock_timestamp() + make_interval(secs => lease_seconds::double precision) END);
  RETURN QUERY SELECT CASE WHEN elsewhere OR NOT must_arrive THEN 'claimed' ELSE 'prepaid' END, new_id;
END $$;
