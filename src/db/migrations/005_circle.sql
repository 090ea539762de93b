-- Wallets made ahead of their owners, and what we have asked Circle for: each key is written here before it is used.

-- A request for wallets. What was asked and never answered is asked again with the same id, and gives the same wallets.
CREATE TABLE wallet_batches (
  id          uuid PRIMARY KEY,
  provider    text NOT NULL,
  chain       text NOT NULL,
  wallets     integer NOT NULL CHECK (wallets > 0),
  asked_at    timestamptz NOT NULL DEFAULT now(),
  answered_at timestamptz
);
CREATE INDEX wallet_batches_open ON wallet_batches (provider, chain, asked_at) WHERE answered_at IS NULL;

-- Every wallet of such a request. It is free until somebody takes it, and nobody takes it twice.
CREATE TABLE wallet_pool (
  provider     text NOT NULL,
  chain        text NOT NULL,
  provider_ref text NOT NULL,
  address      text NOT NULL CHECK (address ~ '^0x[0-9a-fA-F]{40}$'),
  batch_id     uuid NOT NULL REFERENCES wallet_batches (id),
  made_at      timestamptz NOT NULL DEFAULT now(),
  taken_at     timestamptz,
  PRIMARY KEY (provider, provider_ref),
  UNIQUE (provider, chain, address)
);
CREATE INDEX wallet_pool_free ON wallet_pool (provider, chain, made_at) WHERE taken_at IS NULL;

-- The one wallet set that all our wallets at Circle belong to.
CREATE TABLE circle_wallet_set (
  only_one        boolean PRIMARY KEY DEFAULT true CHECK (only_one),
  idempotency_key uuid NOT NULL,
  wallet_set_id   uuid
);

-- Single wallets, asked for by somebody who had no key of their own.
CREATE TABLE circle_wallet_requests (
  idempotency_key uuid PRIMARY KEY,
  chain           text NOT NULL,
  asked_at        timestamptz NOT NULL DEFAULT now(),
  answered_at     timestamptz
);
CREATE INDEX circle_wallet_requests_open ON circle_wallet_requests (chain, asked_at) WHERE answered_at IS NULL;

-- A stuck transaction may be given a higher fee several times; each time is another request.
CREATE TABLE circle_accelerations (
  transaction_id  text NOT NULL,
  round           integer NOT NULL,
  idempotency_key uuid NOT NULL,
  asked_at        timestamptz NOT NULL DEFAULT now(),
  answered_at     timestamptz,
  PRIMARY KEY (transaction_id, round)
);

-- Circle repeats a notification until it is taken; these are taken.
CREATE TABLE circle_notifications (
  id          uuid PRIMARY KEY,
  received_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX circle_notifications_by_age ON circle_notifications (received_at);
