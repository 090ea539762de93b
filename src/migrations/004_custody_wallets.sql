-- Wallets of users and of the house, what is made ahead of its owner, and what we have asked the providers of wallets for.

-- One wallet per account and chain, at the provider that holds its key. After a rotation of the seed an account has a new wallet; the old
-- one is watched for ever.
CREATE TABLE wallets (
  id           text PRIMARY KEY,
  account_id   bigint NOT NULL REFERENCES accounts (id),
  chain        text NOT NULL,
  provider     text NOT NULL,
  -- How the provider knows this wallet.
  provider_ref text NOT NULL,
  address      text NOT NULL CHECK (address ~ '^0x[0-9a-fA-F]{40}$'),
  created_at   timestamptz NOT NULL DEFAULT now(),
  retired_at   timestamptz,
  CONSTRAINT wallets_chain_address_key UNIQUE (chain, address)
);
CREATE UNIQUE INDEX wallets_account_chain_key ON wallets (account_id, chain) WHERE retired_at IS NULL;
CREATE INDEX wallets_by_age ON wallets (created_at);

-- The master seed of the `keys` provider, sealed with the operator's secret. The newest one is in use
-- that a backup holds: what a lost seed has received is lost.
CREATE TABLE wallet_seeds (
  id           integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  sealed       bytea NOT NULL,
  created_at   timestamptz NOT NULL DEFAULT now(),
  -- The operator has confirmed that a backup holds it.
  backed_up_at timestamptz
);

-- Each derived address has its own index; a number drawn by a request that failed is never used again.
CREATE SEQUENCE wallet_index AS integer MINVALUE 0 START 0;

-- Wallets of our own, one per purpose and chain: treasury (sweeps go in, withdrawals come out), gas (pays for sweeps), and what the rooms
-- need beside them. What a house wallet is for is the release's to say.
CREATE TABLE house_wallets (
  id           text PRIMARY KEY,
  purpose      text NOT NULL CHECK (purpose ~ '^[a-z_]{1,32}$'),
  chain        text NOT NULL,
  provider     text NOT NULL,
  provider_ref text NOT NULL,
  address      text NOT NULL CHECK (address ~ '^0x[0-9a-fA-F]{40}$'),
  created_at   timestamptz NOT NULL DEFAULT now(),
  retired_at   timestamptz,
  UNIQUE (chain, address)
);
CREATE UNIQUE INDEX house_wallets_in_use ON house_wallets (purpose, chain) WHERE retired_at IS NULL;

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

-- What users' wallets hold of the operator's native coin, each: what was lent to it and is not spent yet serves the next transaction.
CREATE TABLE lent_gas (
  wallet_id text PRIMARY KEY REFERENCES wallets (id),
  atomic    numeric NOT NULL
);

-- The `keys` provider: every transaction is here, signed, before anybody sends it. What was refused before a nonce was spent
-- on it is here too, so that the same key is refused for good and never paid later after all.
CREATE TABLE key_nonces (
  chain  text NOT NULL,
  sender text NOT NULL,
  next   bigint NOT NULL,
  PRIMARY KEY (chain, sender)
);

CREATE TABLE key_transactions (
  id           uuid PRIMARY KEY,
  chain        text NOT NULL,
  sender       text NOT NULL,
  provider_ref text NOT NULL,
  nonce        bigint,
  recipient    text NOT NULL,
  data         bytea NOT NULL,
  value        numeric NOT NULL DEFAULT 0 CHECK (value >= 0),
  gas_limit    bigint,
  state        text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'confirmed', 'failed')),
  mined_hash   text,
  block_number bigint,
  gas_cost     numeric,
  reason       text,
  created_at   timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT key_transactions_nonce_key UNIQUE (chain, sender, nonce),
  CHECK (nonce IS NOT NULL OR (state = 'failed' AND reason IS NOT NULL))
);

-- A stuck transaction is signed again with the same nonce and a higher fee. Only one of them can be mined.
CREATE TABLE key_transaction_attempts (
  hash           text PRIMARY KEY,
  transaction_id uuid NOT NULL REFERENCES key_transactions (id),
  raw            bytea NOT NULL,
  max_fee        numeric NOT NULL,
  priority_fee   numeric NOT NULL,
  signed_at      timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX key_transaction_attempts_by_transaction ON key_transaction_attempts (transaction_id);

-- What a wallet of ours has sent and this database does not know of: it was restored from a backup, and the chain went on in
-- between. One of these may have paid what is still to be paid here, so whatever looks like it waits until a person decides.
CREATE TABLE unknown_transactions (
  id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  chain        text NOT NULL,
  sender       text NOT NULL,
  nonce        bigint NOT NULL,
  -- Null when no node could say what has used the nonce: then it may have been anything.
  hash         text,
  recipient    text,
  data         bytea,
  value        numeric,
  gas_limit    bigint,
  max_fee      numeric,
  priority_fee numeric,
  block_number bigint,
  -- With its signature.
  raw          bytea,
  found_at     timestamptz NOT NULL DEFAULT now(),
  -- `paid`: it is the transaction of a step here; `unrelated`: of none; `undone`: it has moved nothing.
  decision     text CHECK (decision IN ('paid', 'unrelated', 'undone')),
  decided_at   timestamptz,
  UNIQUE (chain, sender, nonce),
  CHECK ((decision IS NULL) = (decided_at IS NULL)),
  CHECK ((hash IS NULL) = (recipient IS NULL) AND (hash IS NULL) = (data IS NULL) AND (hash IS NULL) = (value IS NULL))
);
CREATE INDEX unknown_transactions_open ON unknown_transactions (chain, sender) WHERE decided_at IS NULL;

-- What was asked for and is not signed, because one of the above may have been just that.
CREATE TABLE held_key_transactions (
  id           uuid PRIMARY KEY,
  unknown_id   bigint NOT NULL REFERENCES unknown_transactions (id),
  chain        text NOT NULL,
  sender       text NOT NULL,
  provider_ref text NOT NULL,
  recipient    text NOT NULL,
  data         bytea NOT NULL,
  value        numeric NOT NULL,
  held_at      timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX held_key_transactions_by_unknown ON held_key_transactions (unknown_id);

-- How often the fee of one stuck transaction may be raised, where that is more than usual. By the name that its provider gave it.
CREATE TABLE raised_fee_limits (
  provider_ref text PRIMARY KEY,
  most         integer NOT NULL CHECK (most BETWEEN 21 AND 100),
  raised_at    timestamptz NOT NULL DEFAULT clock_timestamp()
);
