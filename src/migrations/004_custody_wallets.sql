-- Wallets of users and of the house, the pool of unassigned wallets, and our requests to wallet providers.

-- One wallet per account and chain, at the provider that holds its key. After a seed rotation an account has a new
-- wallet; the old one is watched forever.
CREATE TABLE wallets (
  id           text PRIMARY KEY,
  account_id   bigint NOT NULL REFERENCES accounts (id),
  chain        text NOT NULL,
  provider     text NOT NULL,
  -- The provider's id of the wallet.
  provider_ref text NOT NULL,
  address      text NOT NULL CHECK (address ~ '^0x[0-9a-fA-F]{40}$'),
  created_at   timestamptz NOT NULL DEFAULT now(),
  retired_at   timestamptz,
  CONSTRAINT wallets_chain_address_key UNIQUE (chain, address)
);
CREATE UNIQUE INDEX wallets_account_chain_key ON wallets (account_id, chain) WHERE retired_at IS NULL;
CREATE INDEX wallets_by_age ON wallets (created_at);

-- The master seeds of the `keys` provider, encrypted with the operator's secret. The newest one with a backup is in
-- use, because everything sent to a lost seed is lost.
CREATE TABLE wallet_seeds (
  id           integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  sealed       bytea NOT NULL,
  created_at   timestamptz NOT NULL DEFAULT now(),
  -- When the operator confirmed that a backup contains it.
  backed_up_at timestamptz
);

-- The index of each derived address. A number taken by a failed request is never used again.
CREATE SEQUENCE wallet_index AS integer MINVALUE 0 START 0;

-- Wallets of our own, one per purpose and chain: treasury (sweeps go in, withdrawals come out), gas (pays for sweeps),
-- and others that the rooms need. The release defines the purposes.
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

-- A request for wallets. An unanswered one is repeated with the same id, and returns the same wallets.
CREATE TABLE wallet_batches (
  id          uuid PRIMARY KEY,
  provider    text NOT NULL,
  chain       text NOT NULL,
  wallets     integer NOT NULL CHECK (wallets > 0),
  asked_at    timestamptz NOT NULL DEFAULT now(),
  answered_at timestamptz
);
CREATE INDEX wallet_batches_open ON wallet_batches (provider, chain, asked_at) WHERE answered_at IS NULL;

-- The wallets of these requests. Each is taken at most once.
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

-- The wallet set of all our wallets at Circle.
CREATE TABLE circle_wallet_set (
  only_one        boolean PRIMARY KEY DEFAULT true CHECK (only_one),
  idempotency_key uuid NOT NULL,
  wallet_set_id   uuid
);

-- Requests for single wallets whose caller had no key of its own.
CREATE TABLE circle_wallet_requests (
  idempotency_key uuid PRIMARY KEY,
  chain           text NOT NULL,
  asked_at        timestamptz NOT NULL DEFAULT now(),
  answered_at     timestamptz
);
CREATE INDEX circle_wallet_requests_open ON circle_wallet_requests (chain, asked_at) WHERE answered_at IS NULL;

-- A stuck transaction's fee may be raised several times; each time is a separate request.
CREATE TABLE circle_accelerations (
  transaction_id  text NOT NULL,
  round           integer NOT NULL,
  idempotency_key uuid NOT NULL,
  asked_at        timestamptz NOT NULL DEFAULT now(),
  answered_at     timestamptz,
  PRIMARY KEY (transaction_id, round)
);

-- Circle repeats a notification until it is accepted. These were accepted.
CREATE TABLE circle_notifications (
  id          uuid PRIMARY KEY,
  received_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX circle_notifications_by_age ON circle_notifications (received_at);

-- The operator's native coin in each user's wallet. What was lent and not spent pays for the next transaction.
CREATE TABLE lent_gas (
  wallet_id text PRIMARY KEY REFERENCES wallets (id),
  atomic    numeric NOT NULL
);

-- The `keys` provider stores every signed transaction before sending it. A refusal before a nonce was spent is stored
-- too, so that the same key stays refused and is never paid later.
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

-- Transactions of our wallets that this database does not know, because it was restored from a backup while the chain
-- went on. One of them may have paid what is still to be paid here, so matching payments wait for the operator's
-- decision.
CREATE TABLE unknown_transactions (
  id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  chain        text NOT NULL,
  sender       text NOT NULL,
  nonce        bigint NOT NULL,
  -- Null when no node knew which transaction used the nonce: it may have been anything.
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
  -- `paid`: the transaction of a step here; `unrelated`: of none; `undone`: reverted.
  decision     text CHECK (decision IN ('paid', 'unrelated', 'undone')),
  decided_at   timestamptz,
  UNIQUE (chain, sender, nonce),
  CHECK ((decision IS NULL) = (decided_at IS NULL)),
  CHECK ((hash IS NULL) = (recipient IS NULL) AND (hash IS NULL) = (data IS NULL) AND (hash IS NULL) = (value IS NULL))
);
CREATE INDEX unknown_transactions_open ON unknown_transactions (chain, sender) WHERE decided_at IS NULL;

-- Requests that are not signed, because an unknown transaction may have been the same.
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

-- How often the fee of one stuck transaction may be raised, where the operator allowed more than usual. By the
-- provider's id of the transaction.
CREATE TABLE raised_fee_limits (
  provider_ref text PRIMARY KEY,
  most         integer NOT NULL CHECK (most BETWEEN 21 AND 100),
  raised_at    timestamptz NOT NULL DEFAULT clock_timestamp()
);
