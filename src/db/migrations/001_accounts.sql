-- People and agents, the keys they call with, the wallets they are paid into, and the messages we send them.

CREATE TABLE accounts (
  id                 bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  handle             text NOT NULL CONSTRAINT accounts_handle_key UNIQUE CHECK (handle ~ '^PA-[A-Z0-9]{8}$'),
  -- Kept in lower case: two spellings of one address are one account.
  email              text NOT NULL CONSTRAINT accounts_email_key UNIQUE CHECK (email = lower(email)),
  email_verified_at  timestamptz,
  name               text NOT NULL CHECK (name <> ''),
  password_hash      text NOT NULL,
  -- Set only when its owner has proved it, so that nobody holds a number by merely claiming it.
  phone              text CONSTRAINT accounts_phone_key UNIQUE CHECK (phone ~ '^\+[1-9][0-9]{4,14}$'),
  tier               text NOT NULL DEFAULT 'free' CHECK (tier IN ('free', 'pro', 'enterprise')),
  frozen_at          timestamptz,
  withdrawal_address text CHECK (withdrawal_address ~ '^0x[0-9a-fA-F]{40}$'),
  shipping_address   text CHECK (shipping_address <> ''),
  created_at         timestamptz NOT NULL DEFAULT now()
);

-- Only the keyed hash of a key is kept. A revoked key stays, so that its history can be told.
CREATE TABLE api_keys (
  id         text PRIMARY KEY,
  account_id bigint NOT NULL REFERENCES accounts (id),
  key_hash   bytea NOT NULL CONSTRAINT api_keys_hash_key UNIQUE,
  created_at timestamptz NOT NULL DEFAULT now(),
  revoked_at timestamptz
);
CREATE INDEX api_keys_by_account ON api_keys (account_id);

-- One wallet per account and chain, at the provider that holds its key.
CREATE TABLE wallets (
  id           text PRIMARY KEY,
  account_id   bigint NOT NULL REFERENCES accounts (id),
  chain        text NOT NULL,
  provider     text NOT NULL,
  -- How the provider knows this wallet.
  provider_ref text NOT NULL,
  address      text NOT NULL CHECK (address ~ '^0x[0-9a-fA-F]{40}$'),
  created_at   timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT wallets_account_chain_key UNIQUE (account_id, chain),
  CONSTRAINT wallets_chain_address_key UNIQUE (chain, address)
);

-- The master seed of the `keys` provider, sealed with the operator's secret. The newest one is in use.
CREATE TABLE wallet_seeds (
  id         integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  sealed     bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);

-- Each derived address has its own index; a number drawn by a request that failed is never used again.
CREATE SEQUENCE wallet_index AS integer MINVALUE 0 START 0;

-- The one code that an account may answer with, per kind. A new code replaces the old one.
CREATE TABLE verification_codes (
  account_id    bigint NOT NULL REFERENCES accounts (id),
  kind          text NOT NULL CHECK (kind IN ('email', 'phone')),
  target        text NOT NULL,
  code_hash     bytea NOT NULL,
  attempts_left smallint NOT NULL CHECK (attempts_left >= 0),
  expires_at    timestamptz NOT NULL,
  PRIMARY KEY (account_id, kind)
);

-- Outbox: written in the commit that causes the message, sent by a job. The text is sealed, for it may hold a code.
CREATE TABLE messages (
  id         text PRIMARY KEY,
  account_id bigint NOT NULL REFERENCES accounts (id),
  channel    text NOT NULL CHECK (channel IN ('email', 'sms')),
  recipient  text NOT NULL,
  subject    text NOT NULL,
  sealed     bytea,
  sent_at    timestamptz,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX messages_by_account ON messages (account_id, id DESC);

-- The first success of a request that carried an Idempotency-Key, written in the commit that made it true.
CREATE TABLE idempotency_keys (
  account_id   bigint NOT NULL REFERENCES accounts (id),
  key          text NOT NULL,
  request_hash bytea NOT NULL,
  status       smallint NOT NULL,
  answer       jsonb NOT NULL,
  created_at   timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, key)
);
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);
