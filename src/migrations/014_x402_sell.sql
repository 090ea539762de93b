-- Pay-per-call: which authorization paid for what, the answers, and the settlements.

-- Payers with their own wallets. The lock of a payer's row serializes everything that it may do at once.
CREATE TABLE payers (
  chain        text NOT NULL,
  -- The token's contract and the payer's address, in lower case.
  token        text NOT NULL CHECK (token ~ '^0x[0-9a-f]{40}$'),
  address      text NOT NULL CHECK (address ~ '^0x[0-9a-f]{40}$'),
  -- Payments served or being served that have not arrived: our credit to the payer.
  credit       numeric NOT NULL DEFAULT 0 CHECK (credit >= 0),
  -- Further signed payments, to be served only once they have arrived.
  prepaying    numeric NOT NULL DEFAULT 0 CHECK (prepaying >= 0),
  -- Since when a payment could not be collected. While set, the payer gets no credit and no service.
  failed_since timestamptz,
  -- Everything that has arrived from the payer, by amount and count. A reader of the on-chain balance reads `settled`
  -- first, and so knows what was spent since.
  settled      numeric NOT NULL DEFAULT 0 CHECK (settled >= 0),
  arrivals     bigint NOT NULL DEFAULT 0 CHECK (arrivals >= 0),
  -- Written off and neither recovered nor forgiven.
  debt         numeric NOT NULL DEFAULT 0 CHECK (debt >= 0),
  PRIMARY KEY (chain, token, address)
);
CREATE INDEX payers_in_debt ON payers (address) WHERE failed_since IS NOT NULL OR debt > 0;

CREATE TABLE settlements (
  id           text PRIMARY KEY,
  chain        text NOT NULL,
  asset        text NOT NULL,
  -- The house wallet that submits them.
  wallet_id    text NOT NULL REFERENCES house_wallets (id),
  status       text NOT NULL,
  status_since timestamptz NOT NULL DEFAULT clock_timestamp(),
  waits_for    text,
  created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
  finished_at  timestamptz
);
CREATE INDEX settlements_open ON settlements (status_since) WHERE finished_at IS NULL;
CREATE TRIGGER settlements_guard BEFORE INSERT OR UPDATE ON settlements
  FOR EACH ROW EXECUTE FUNCTION guard_saga('settlement');

-- An EIP-3009 authorization pays for one thing once, in any protocol.
CREATE TABLE payment_claims (
  id                  text PRIMARY KEY,
  -- How it reached us: x402 …
  protocol            text NOT NULL CHECK (protocol ~ '^[a-z0-9_]{1,32}$'),
  chain               text NOT NULL,
  token               text NOT NULL CHECK (token ~ '^0x[0-9a-f]{40}$'),
  asset               text NOT NULL,
  payer               text NOT NULL CHECK (payer ~ '^0x[0-9a-f]{40}$'),
  nonce               text NOT NULL CHECK (nonce ~ '^0x[0-9a-f]{64}$'),
  pay_to              text NOT NULL CHECK (pay_to ~ '^0x[0-9a-f]{40}$'),
  atomic              numeric NOT NULL CHECK (atomic > 0),
  -- In seconds since the epoch, by the chain's clock.
  valid_after         numeric NOT NULL,
  valid_before        numeric NOT NULL,
  signature           text NOT NULL CHECK (signature ~ '^0x[0-9a-f]{130}$'),
  -- The request: which call, and a fingerprint of all its content.
  resource            text NOT NULL,
  fingerprint         bytea NOT NULL CHECK (octet_length(fingerprint) = 32),
  -- The payer's own id, if any.
  identifier          text,
  -- It must arrive before it is served.
  prepaid             boolean NOT NULL,
  -- It pays the payer's debt, not a call.
  clears_debt         boolean NOT NULL DEFAULT false,
  -- A third party submits it, not us.
  submitted_elsewhere boolean NOT NULL DEFAULT false,
  -- The request that is serving it, and until when no other may.
  holder              uuid,
  leased_until        timestamptz,
  -- The answer, for idempotent replays.
  answer              jsonb,
  -- The settlement that submits it, the number of attempts, and the earliest time of the next one.
  settlement_id       text REFERENCES settlements (id),
  attempts            integer NOT NULL DEFAULT 0,
  retry_at            timestamptz,
  -- How many of our transactions were confirmed without moving it. Each cost us gas.
  failed_tries        integer NOT NULL DEFAULT 0 CHECK (failed_tries >= 0),
  -- Since when the payer is at fault that it has not moved: the wallet had too little, or a transaction that we
  -- submitted in time did not move it. Null again once the wallet has enough. A payment that lapses while this is null
  -- lapsed through our own delay.
  payer_failed_at     timestamptz,
  tx_hash             text CHECK (tx_hash ~ '^0x[0-9a-f]{64}$'),
  -- The ledger account that its arrival was posted to.
  arrival_account     bigint,
  claimed_at          timestamptz NOT NULL DEFAULT clock_timestamp(),
  served_at           timestamptz,
  arrived_at          timestamptz,
  -- Booked as income.
  earned_at           timestamptz,
  -- Served, and will never arrive.
  written_off_at      timestamptz,
  -- Not served, and can never arrive.
  lapsed_at           timestamptz,
  CONSTRAINT payment_claims_once UNIQUE (chain, token, payer, nonce),
  CONSTRAINT payment_claims_clearing CHECK (prepaid OR NOT clears_debt),
  FOREIGN KEY (chain, token, payer) REFERENCES payers (chain, token, address),
  CHECK ((arrived_at IS NULL) = (arrival_account IS NULL)),
  CHECK (earned_at IS NULL OR (served_at IS NOT NULL AND arrived_at IS NOT NULL)),
  CHECK (written_off_at IS NULL OR served_at IS NOT NULL),
  CHECK (lapsed_at IS NULL OR (served_at IS NULL AND arrived_at IS NULL))
);
CREATE UNIQUE INDEX payment_claims_identified ON payment_claims (chain, token, payer, identifier)
  WHERE identifier IS NOT NULL;
-- Payments to be submitted, by the time left.
CREATE INDEX payment_claims_unsettled ON payment_claims (chain, asset, valid_before)
  WHERE arrived_at IS NULL AND written_off_at IS NULL AND lapsed_at IS NULL;
CREATE INDEX payment_claims_of_settlement ON payment_claims (settlement_id) WHERE settlement_id IS NOT NULL;
-- Served and not earned: a small part of all.
CREATE INDEX payment_claims_unearned ON payment_claims (chain, asset)
  WHERE served_at IS NOT NULL AND earned_at IS NULL AND written_off_at IS NULL;
CREATE INDEX payment_claims_leased ON payment_claims (leased_until) WHERE leased_until IS NOT NULL;
CREATE INDEX payment_claims_answered ON payment_claims (served_at) WHERE answer IS NOT NULL;
-- A payer's open payments: a small part of all.
CREATE INDEX payment_claims_open_of_payer ON payment_claims (payer)
  WHERE arrived_at IS NULL AND written_off_at IS NULL AND lapsed_at IS NULL;

-- A payment's terms never change, and an ended one stays ended. Only a payment that has arrived without being served
-- may be used for another request, because its first one failed.
CREATE FUNCTION guard_payment_claim() RETURNS trigger LANGUAGE plpgsql AS $$
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
CREATE TRIGGER payment_claims_guard BEFORE UPDATE OR DELETE ON payment_claims
  FOR EACH ROW EXECUTE FUNCTION guard_payment_claim();

-- A payer's credit and arrivals derive from its payments, and only this trigger writes them. A payer that failed to pay
-- is trusted again once no payment is open, however the last one ended: arrived, written off, lapsed, or deleted
-- because nothing was served for it.
CREATE FUNCTION count_payment_claim() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  before numeric := 0;
  after numeric := 0;
  arrived integer := 0;
  more_credit numeric;
  more_prepaying numeric;
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
    UPDATE payers SET credit = credit + more_credit, prepaying = prepaying + more_prepaying,
        settled = settled + arrived * claim.atomic, arrivals = arrivals + arrived,
        failed_since = CASE WHEN credit + more_credit > 0 OR prepaying + more_prepaying > 0 THEN failed_since END
      WHERE chain = claim.chain AND token = claim.token AND address = claim.payer;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER payment_claims_count AFTER INSERT OR DELETE OR UPDATE OF arrived_at, written_off_at, lapsed_at
  ON payment_claims FOR EACH ROW EXECUTE FUNCTION count_payment_claim();

-- Claims a payment for one request. Returns claimed (the caller serves it now), prepaid (it must arrive first), known
-- (claimed before), identifier_taken, in_debt, ours (the payer is a wallet of ours), short (the wallet holds less than
-- it signed for) or not_owed (it pays a debt that does not exist). `funds` is the wallet's balance when `settled` was
-- `settled_before`. Payments served before they arrive are limited to what is submitted at once (`mostOfStranger` in
-- choose-payments.ts): a payment that waits for its turn could lapse, and nobody would pay for it.
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
    OR (SELECT count(*) FROM payment_claims c
         WHERE c.chain = new_chain AND c.token = new_token AND c.payer = new_payer AND NOT c.prepaid
           AND c.arrived_at IS NULL AND c.written_off_at IS NULL AND c.lapsed_at IS NULL) >= 10 + who.arrivals;
  INSERT INTO payment_claims (id, protocol, chain, token, asset, payer, nonce, pay_to, atomic, valid_after, valid_before,
      signature, resource, fingerprint, identifier, prepaid, submitted_elsewhere, clears_debt, holder, leased_until)
    VALUES (new_id, new_protocol, new_chain, new_token, new_asset, new_payer, new_nonce, new_pay_to, new_atomic,
      new_valid_after, new_valid_before, new_signature, new_resource, new_fingerprint, new_identifier, must_arrive, elsewhere,
      clears, CASE WHEN elsewhere OR NOT must_arrive THEN new_holder END,
      CASE WHEN elsewhere OR NOT must_arrive THEN clock_timestamp() + make_interval(secs => lease_seconds::double precision) END);
  RETURN QUERY SELECT CASE WHEN elsewhere OR NOT must_arrive THEN 'claimed' ELSE 'prepaid' END, new_id;
END $$;

-- A deposit to a house wallet that paid for a call.
ALTER TABLE deposits ADD FOREIGN KEY (claim_id) REFERENCES payment_claims (id);
