-- What accounts buy from other people's paid endpoints (x402). A house wallet signs, and the seller submits the signature.

-- What leaves a wallet by a signature: whoever has it may submit it, in a transaction of his own or with others in one. The token
-- tells by the nonce what has become of it.
ALTER TABLE chain_step_leaves ADD COLUMN authorization_nonce text CHECK (authorization_nonce ~ '^0x[0-9a-f]{64}$');
CREATE UNIQUE INDEX chain_step_leaves_by_nonce ON chain_step_leaves (authorization_nonce)
  WHERE authorization_nonce IS NOT NULL;

CREATE TABLE purchases (
  -- Compared byte by byte, so that the order of ids is the order of time.
  id             text COLLATE "C" PRIMARY KEY,
  account_id     bigint NOT NULL REFERENCES accounts (id),
  method         text NOT NULL,
  url            text NOT NULL,
  -- The Idempotency-Key that it was asked for under, as the ledger keeps it.
  key_digest     text CONSTRAINT purchases_key_digest_key UNIQUE,
  asset          text NOT NULL,
  amount         numeric NOT NULL CHECK (amount > 0),
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
CREATE INDEX purchases_open ON purchases (status_since) WHERE finished_at IS NULL;
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
