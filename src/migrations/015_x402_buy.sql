-- What accounts buy from other people's paid endpoints (x402). A house wallet signs, and the seller submits the signature.

CREATE TABLE purchases (
  -- Compared byte by byte, so that the order of ids is the order of time.
  id             text COLLATE "C" PRIMARY KEY,
  account_id     bigint NOT NULL REFERENCES accounts (id),
  method         text NOT NULL,
  url            text NOT NULL,
  -- The Idempotency-Key that it was asked for under, as the ledger keeps it. Keys are forgotten after two days, and purchases are kept:
  -- the same key may then stand for another one. That a key that is still known stands for one purchase is seen to by
  -- ledger.idempotency_keys, in the same commit.
  key_digest     text,
  asset          text NOT NULL,
  amount         numeric NOT NULL CHECK (amount > 0),
  -- What it costs beside its amount, once an account has paid more within a day than calls cost.
  fee            numeric NOT NULL CHECK (fee >= 0),
  -- What was accepted, as the seller wrote it and gets it back: JSON, as text because strangers write what jsonb cannot hold.
  x402_version   smallint NOT NULL CHECK (x402_version IN (1, 2)),
  terms          text NOT NULL,
  -- The authorization: who signs, for whom, under which nonce, and until when the token accepts it. Known before anybody signs.
  wallet_id      text NOT NULL REFERENCES house_wallets (id),
  pay_to         text NOT NULL CHECK (pay_to ~ '^0x[0-9a-f]{40}$'),
  nonce          text NOT NULL CONSTRAINT purchases_nonce_key UNIQUE CHECK (nonce ~ '^0x[0-9a-f]{64}$'),
  valid_before   bigint NOT NULL,
  -- No block before this one can have used it.
  from_block     bigint NOT NULL,
  signature      text CHECK (signature ~ '^0x[0-9a-f]+$'),
  status         text NOT NULL,
  -- How often the seller was asked with the payment, and when the last time: whoever asks has so and so long for it.
  asks           integer NOT NULL DEFAULT 0 CHECK (asks >= 0),
  asked_at       timestamptz,
  -- What the seller has answered; or why there is no answer.
  seller_status  integer,
  seller_trouble text CHECK (seller_trouble IN ('timeout', 'unreachable', 'lost')),
  -- What the seller says of the payment: JSON.
  receipt        text,
  -- The transaction that has used the authorization, whoever sent it.
  tx_hash        text,
  -- Why the money came back, in words for its owner.
  error          text,
  status_since   timestamptz NOT NULL DEFAULT clock_timestamp(),
  waits_for      text,
  created_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  finished_at    timestamptz,
  CHECK (status IN ('held', 'returned') OR signature IS NOT NULL),
  CHECK (seller_status IS NULL OR seller_trouble IS NULL)
);
CREATE INDEX purchases_by_account ON purchases (account_id, id DESC);
CREATE INDEX purchases_by_key ON purchases (key_digest, id) WHERE key_digest IS NOT NULL;
CREATE INDEX purchases_open ON purchases (status_since) WHERE finished_at IS NULL;
-- What an account has paid to sellers within a day, and what all have within an hour.
CREATE INDEX purchases_by_day ON purchases (account_id, created_at);
CREATE INDEX purchases_by_time ON purchases (created_at);
CREATE TRIGGER purchases_guard BEFORE INSERT OR UPDATE ON purchases FOR EACH ROW EXECUTE FUNCTION guard_saga('purchase');

-- What is to be asked of the seller, sealed, because it may hold the caller's secrets. It is gone once nobody asks any more.
CREATE TABLE purchase_requests (
  purchase_id text COLLATE "C" PRIMARY KEY REFERENCES purchases (id) ON DELETE CASCADE,
  sealed      bytea NOT NULL
);

-- What the seller has sent, kept as long as an Idempotency-Key is.
CREATE TABLE purchase_answers (
  purchase_id text COLLATE "C" PRIMARY KEY REFERENCES purchases (id) ON DELETE CASCADE,
  -- JSON.
  headers     text NOT NULL,
  body        bytea NOT NULL,
  truncated   boolean NOT NULL,
  kept_at     timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX purchase_answers_by_age ON purchase_answers (kept_at);

-- What came back of the fees of purchases. When a purchase comes back, later ones of the same 24 hours cost less: the excess of their fees
-- comes back in the same commit. A row for each purchase that gave something back, and for each one that came back itself. A table
-- of its own, because a purchase that is finished never changes.
CREATE TABLE purchase_fees_returned (
  purchase_id text COLLATE "C" NOT NULL REFERENCES purchases (id),
  -- The purchase that came back.
  because_of  text COLLATE "C" NOT NULL REFERENCES purchases (id),
  atomic      numeric NOT NULL CHECK (atomic > 0),
  PRIMARY KEY (purchase_id, because_of)
);

-- No purchase gives back more than it cost. Its row is locked by whoever gives back, so two at once count each other's.
CREATE FUNCTION guard_fee_returned() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  charged numeric;
BEGIN
  SELECT fee INTO charged FROM purchases WHERE id = NEW.purchase_id FOR UPDATE;
  IF (SELECT sum(atomic) FROM purchase_fees_returned WHERE purchase_id = NEW.purchase_id) > charged THEN
    RAISE EXCEPTION 'purchase % cost a fee of %, and more would come back', NEW.purchase_id, charged
      USING ERRCODE = 'check_violation';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER purchase_fees_returned_guard AFTER INSERT OR UPDATE ON purchase_fees_returned
  FOR EACH ROW EXECUTE FUNCTION guard_fee_returned();

-- How many bytes of answers of others were kept for an account on a day, so that nobody fills the disk with them.
CREATE TABLE kept_bytes (
  account_id bigint NOT NULL REFERENCES accounts (id),
  day        date NOT NULL,
  kind       text COLLATE "C" NOT NULL CHECK (kind IN ('free', 'paid')),
  bytes      bigint NOT NULL DEFAULT 0 CHECK (bytes >= 0),
  PRIMARY KEY (account_id, day, kind)
);
