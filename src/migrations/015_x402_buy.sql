-- Purchases from other people's paid endpoints (x402). A house wallet signs, and the seller submits the signature.

CREATE TABLE purchases (
  -- Compared byte by byte, so that ids sort by time.
  id             text COLLATE "C" PRIMARY KEY,
  account_id     bigint NOT NULL REFERENCES accounts (id),
  method         text NOT NULL,
  url            text NOT NULL,
  -- The digest of its Idempotency-Key. Keys expire after two days and purchases stay, so an old key may name another
  -- purchase later. ledger.idempotency_keys, written in the same commit, keeps a current key unique.
  key_digest     text,
  asset          text NOT NULL,
  amount         numeric NOT NULL CHECK (amount > 0),
  -- The fee, charged once an account has paid more within a day than calls cost.
  fee            numeric NOT NULL CHECK (fee >= 0),
  -- The accepted terms as the seller wrote them, to be sent back. Text, because strangers write JSON that jsonb cannot
  -- hold.
  x402_version   smallint NOT NULL CHECK (x402_version IN (1, 2)),
  terms          text NOT NULL,
  -- The authorization: signer, recipient, nonce and expiry. Known before signing.
  wallet_id      text NOT NULL REFERENCES house_wallets (id),
  pay_to         text NOT NULL CHECK (pay_to ~ '^0x[0-9a-f]{40}$'),
  nonce          text NOT NULL CONSTRAINT purchases_nonce_key UNIQUE CHECK (nonce ~ '^0x[0-9a-f]{64}$'),
  valid_before   bigint NOT NULL,
  -- No earlier block can have used it.
  from_block     bigint NOT NULL,
  signature      text CHECK (signature ~ '^0x[0-9a-f]+$'),
  status         text NOT NULL,
  -- How often the seller was asked with the payment, and when last, because every request has a time limit.
  asks           integer NOT NULL DEFAULT 0 CHECK (asks >= 0),
  asked_at       timestamptz,
  -- The seller's status, or why there is none.
  seller_status  integer,
  seller_trouble text CHECK (seller_trouble IN ('timeout', 'unreachable', 'lost')),
  -- The seller's payment receipt: JSON.
  receipt        text,
  -- The transaction that used the authorization, no matter who sent it.
  tx_hash        text,
  -- Why the money came back, for its owner.
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
-- For the daily limit of an account and the hourly limit of the service.
CREATE INDEX purchases_by_day ON purchases (account_id, created_at);
CREATE INDEX purchases_by_time ON purchases (created_at);
CREATE TRIGGER purchases_guard BEFORE INSERT OR UPDATE ON purchases FOR EACH ROW EXECUTE FUNCTION guard_saga('purchase');

-- The request to the seller, encrypted because it may contain the caller's secrets. Deleted once it is no longer
-- needed.
CREATE TABLE purchase_requests (
  purchase_id text COLLATE "C" PRIMARY KEY REFERENCES purchases (id) ON DELETE CASCADE,
  sealed      bytea NOT NULL
);

-- The seller's response, kept as long as an Idempotency-Key.
CREATE TABLE purchase_answers (
  purchase_id text COLLATE "C" PRIMARY KEY REFERENCES purchases (id) ON DELETE CASCADE,
  -- JSON.
  headers     text NOT NULL,
  body        bytea NOT NULL,
  truncated   boolean NOT NULL,
  kept_at     timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX purchase_answers_by_age ON purchase_answers (kept_at);

-- Returned fees of purchases. When a purchase is refunded, later ones of the same 24 hours cost less, and the excess of
-- their fees is returned in the same commit. One row per purchase that returned a part of its fee, including the
-- refunded one. A separate table, because a finished purchase never changes.
CREATE TABLE purchase_fees_returned (
  purchase_id text COLLATE "C" NOT NULL REFERENCES purchases (id),
  -- The purchase that was refunded.
  because_of  text COLLATE "C" NOT NULL REFERENCES purchases (id),
  atomic      numeric NOT NULL CHECK (atomic > 0),
  PRIMARY KEY (purchase_id, because_of)
);

-- A purchase returns at most its fee. The row lock makes concurrent returns count each other.
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

-- Bytes of sellers' responses kept per account and day, so that no account fills the disk.
CREATE TABLE kept_bytes (
  account_id bigint NOT NULL REFERENCES accounts (id),
  day        date NOT NULL,
  kind       text COLLATE "C" NOT NULL CHECK (kind IN ('free', 'paid')),
  bytes      bigint NOT NULL DEFAULT 0 CHECK (bytes >= 0),
  PRIMARY KEY (account_id, day, kind)
);
