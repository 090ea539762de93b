-- Payments for calls: whose fault it is that one did not arrive, what a wallet has left for another one, and a debt that is paid.
-- serves_from: 23

ALTER TABLE payers
  -- Everything that has ever arrived from it: how much, and how many payments. Whoever reads a balance on the chain reads `settled`
  -- first, and so knows what of that balance was spent since.
  ADD COLUMN settled numeric NOT NULL DEFAULT 0 CHECK (settled >= 0),
  ADD COLUMN arrivals bigint NOT NULL DEFAULT 0 CHECK (arrivals >= 0);

ALTER TABLE payment_claims
  -- How many transactions of ours were confirmed without moving it. Each has cost us gas.
  ADD COLUMN failed_tries integer NOT NULL DEFAULT 0 CHECK (failed_tries >= 0),
  -- Since when the payer is why it has not moved: the wallet was too short for it, or a transaction that we submitted in time did not
  -- move it. Null again as soon as the wallet has enough. What lapses while this is null lapses by our own delay.
  ADD COLUMN payer_failed_at timestamptz,
  -- It pays the debt of its payer, and no call.
  ADD COLUMN clears_debt boolean NOT NULL DEFAULT false;
ALTER TABLE payment_claims ADD CONSTRAINT payment_claims_clearing CHECK (prepaid OR NOT clears_debt) NOT VALID;
-- What a payer has open: little of all that it ever paid.
CREATE INDEX payment_claims_open_of_payer ON payment_claims (payer)
  WHERE arrived_at IS NULL AND written_off_at IS NULL AND lapsed_at IS NULL;

-- What a payment is stays as it was claimed, and what has come to an end does not come back. Only a payment that has arrived and was
-- served nothing may be used for another request: its first one has failed.
CREATE OR REPLACE FUNCTION guard_payment_claim() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    IF OLD.served_at IS NOT NULL OR OLD.arrived_at IS NOT NULL THEN
      RAISE EXCEPTION 'payment % was served or has arrived and cannot be forgotten', OLD.id
        USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN OLD;
  END IF;
  IF (OLD.id, OLD.protocol, OLD.chain, OLD.token, OLD.asset, OLD.payer, OLD.nonce, OLD.pay_to, OLD.atomic,
      OLD.valid_after, OLD.valid_before, OLD.signature, OLD.identifier, OLD.prepaid, OLD.clears_debt)
    IS DISTINCT FROM
     (NEW.id, NEW.protocol, NEW.chain, NEW.token, NEW.asset, NEW.payer, NEW.nonce, NEW.pay_to, NEW.atomic,
      NEW.valid_after, NEW.valid_before, NEW.signature, NEW.identifier, NEW.prepaid, NEW.clears_debt)
    OR ((OLD.resource, OLD.fingerprint) IS DISTINCT FROM (NEW.resource, NEW.fingerprint)
      AND (OLD.arrived_at IS NULL OR OLD.served_at IS NOT NULL OR OLD.clears_debt))
    OR (OLD.served_at IS NOT NULL AND OLD.served_at IS DISTINCT FROM NEW.served_at)
    OR (OLD.arrived_at IS NOT NULL AND OLD.arrived_at IS DISTINCT FROM NEW.arrived_at)
    OR (OLD.earned_at IS NOT NULL AND OLD.earned_at IS DISTINCT FROM NEW.earned_at)
  THEN
    RAISE EXCEPTION 'payment % cannot become another one', OLD.id USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $$;

-- What a payer has promised and what has arrived of it follow from its payments, so both are kept here and nowhere else.
CREATE OR REPLACE FUNCTION count_payment_claim() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  before numeric := 0;
  after numeric := 0;
  arrived integer := 0;
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
    UPDATE payers SET credit = credit + CASE WHEN claim.prepaid THEN 0 ELSE after - before END,
        prepaying = prepaying + CASE WHEN claim.prepaid THEN after - before ELSE 0 END,
        settled = settled + arrived * claim.atomic, arrivals = arrivals + arrived
      WHERE chain = claim.chain AND token = claim.token AND address = claim.payer;
  END IF;
  RETURN NULL;
END $$;

-- Claims a payment for one request. One of: claimed (the caller serves it now), prepaid (it has to arrive first), known (it was
-- claimed before), identifier_taken, in_debt, ours (the payer is a wallet that we hold ourselves), short (the wallet holds less than it
-- has signed for), not_owed (it pays a debt that is not there). `funds` is what the wallet held when `settled` was `settled_before`.
-- The function of the same name with fewer parameters is for releases before this one.
CREATE FUNCTION claim_payment(
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
    IF new_atomic + coalesce((SELECT sum(c.atomic) FROM payment_claims c
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
  must_arrive := elsewhere OR clears OR who.credit + new_atomic > most_credit;
  INSERT INTO payment_claims (id, protocol, chain, token, asset, payer, nonce, pay_to, atomic, valid_after, valid_before,
      signature, resource, fingerprint, identifier, prepaid, submitted_elsewhere, clears_debt, holder, leased_until)
    VALUES (new_id, new_protocol, new_chain, new_token, new_asset, new_payer, new_nonce, new_pay_to, new_atomic,
      new_valid_after, new_valid_before, new_signature, new_resource, new_fingerprint, new_identifier, must_arrive, elsewhere,
      clears, CASE WHEN elsewhere OR NOT must_arrive THEN new_holder END,
      CASE WHEN elsewhere OR NOT must_arrive THEN clock_timestamp() + make_interval(secs => lease_seconds::double precision) END);
  RETURN QUERY SELECT CASE WHEN elsewhere OR NOT must_arrive THEN 'claimed' ELSE 'prepaid' END, new_id;
END $$;
