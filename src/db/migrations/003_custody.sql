-- What we hold on chains: house wallets, deposits, sweeps, withdrawals, and the transactions that move them.

-- Gas is paid in a chain's native coin, which is the operator's and never a user's.
INSERT INTO ledger.assets VALUES (6, 'AVAX', 18);
-- The native coin we hold stands here below zero, apart from wrapped coins in custody.
INSERT INTO ledger.kinds VALUES (36, 'gas_tank');

-- After a rotation of the seed an account has a new wallet; the old one is watched for ever.
ALTER TABLE wallets ADD COLUMN retired_at timestamptz;
ALTER TABLE wallets DROP CONSTRAINT wallets_account_chain_key;
CREATE UNIQUE INDEX wallets_account_chain_key ON wallets (account_id, chain) WHERE retired_at IS NULL;
CREATE INDEX wallets_by_age ON wallets (created_at);

-- Wallets of our own, one per purpose and chain: treasury (sweeps go in, withdrawals come out) and gas (pays for sweeps).
CREATE TABLE house_wallets (
  id           text PRIMARY KEY,
  purpose      text NOT NULL CHECK (purpose IN ('treasury', 'gas')),
  chain        text NOT NULL,
  provider     text NOT NULL,
  provider_ref text NOT NULL,
  address      text NOT NULL CHECK (address ~ '^0x[0-9a-fA-F]{40}$'),
  created_at   timestamptz NOT NULL DEFAULT now(),
  retired_at   timestamptz,
  UNIQUE (chain, address)
);
CREATE UNIQUE INDEX house_wallets_in_use ON house_wallets (purpose, chain) WHERE retired_at IS NULL;

-- How far each chain has been read. Everything up to block_number is credited.
CREATE TABLE chain_cursors (
  chain        text PRIMARY KEY,
  block_number bigint NOT NULL,
  block_hash   text NOT NULL,
  -- One process reads a chain at a time; when it is gone, another takes over.
  leased_by    text,
  leased_until timestamptz,
  read_at      timestamptz NOT NULL DEFAULT now()
);

-- Blocks that were read, so that a reorganisation deeper than the confirmations is noticed and read again.
CREATE TABLE chain_checkpoints (
  chain        text NOT NULL,
  block_number bigint NOT NULL,
  block_hash   text NOT NULL,
  PRIMARY KEY (chain, block_number)
);

-- A sweep carries deposits to the treasury: one transaction with an authorization signed by each wallet.
CREATE TABLE sweeps (
  id              text PRIMARY KEY,
  chain           text NOT NULL,
  asset           text NOT NULL,
  -- What the provider knows our request by, written before it is asked.
  idempotency_key uuid NOT NULL UNIQUE,
  -- The gas wallet that pays, chosen when it is sent.
  gas_wallet_id   text REFERENCES house_wallets (id),
  provider_ref    text,
  status          text NOT NULL CHECK (status IN ('signed', 'sending', 'complete', 'failed')),
  tx_hash         text,
  created_at      timestamptz NOT NULL DEFAULT now(),
  finished_at     timestamptz
);
CREATE INDEX sweeps_open ON sweeps (chain) WHERE finished_at IS NULL;

CREATE TABLE sweep_items (
  sweep_id     text NOT NULL REFERENCES sweeps (id),
  address      text NOT NULL,
  treasury     text NOT NULL,
  atomic       numeric NOT NULL CHECK (atomic > 0),
  nonce        text NOT NULL,
  valid_before bigint NOT NULL,
  signature    text NOT NULL,
  -- Null until the sweep is finished.
  moved        boolean,
  PRIMARY KEY (sweep_id, address)
);

-- Every transfer of a token of ours to a wallet of ours, each exactly once: the place within the transaction does not
-- change when a reorganisation puts the transaction into another block.
CREATE TABLE deposits (
  id           text PRIMARY KEY,
  chain        text NOT NULL,
  tx_hash      text NOT NULL,
  position     integer NOT NULL,
  block_number bigint NOT NULL,
  -- Null when it came to a house wallet, and is surplus.
  account_id   bigint REFERENCES accounts (id),
  address      text NOT NULL,
  sender       text NOT NULL,
  asset        text NOT NULL,
  atomic       numeric NOT NULL CHECK (atomic > 0),
  -- The posting that credited it.
  transfer_id  text NOT NULL,
  -- Set while a sweep carries it, and for good when it has arrived.
  sweep_id     text REFERENCES sweeps (id),
  swept_at     timestamptz,
  created_at   timestamptz NOT NULL DEFAULT now(),
  UNIQUE (chain, tx_hash, position)
);
CREATE INDEX deposits_by_account ON deposits (account_id, id DESC);
CREATE INDEX deposits_unswept ON deposits (chain, asset, address) WHERE swept_at IS NULL;

-- What a retired house wallet still holds, on its way to the one that replaced it. One at a time per wallet and coin.
CREATE TABLE house_moves (
  id              text PRIMARY KEY,
  chain           text NOT NULL,
  from_wallet     text NOT NULL REFERENCES house_wallets (id),
  to_wallet       text NOT NULL REFERENCES house_wallets (id),
  -- Null for the native coin.
  token           text,
  atomic          numeric NOT NULL CHECK (atomic > 0),
  idempotency_key uuid NOT NULL UNIQUE,
  provider_ref    text,
  tx_hash         text,
  created_at      timestamptz NOT NULL DEFAULT now(),
  finished_at     timestamptz
);
CREATE UNIQUE INDEX house_moves_open ON house_moves (from_wallet, coalesce(token, '')) WHERE finished_at IS NULL;

CREATE TABLE withdrawals (
  id              text PRIMARY KEY,
  -- Null when the operator pays out earned fees.
  account_id      bigint REFERENCES accounts (id),
  chain           text NOT NULL,
  asset           text NOT NULL,
  address         text NOT NULL CHECK (address ~ '^0x[0-9a-fA-F]{40}$'),
  gross           numeric NOT NULL CHECK (gross > 0),
  fee             numeric NOT NULL CHECK (fee >= 0),
  net             numeric NOT NULL CHECK (net > 0),
  status          text NOT NULL CHECK (status IN ('queued', 'held', 'awaiting_liquidity', 'sending', 'complete', 'failed')),
  -- What the provider knows our request by, written before it is asked.
  idempotency_key uuid NOT NULL UNIQUE,
  -- The house wallet that pays, chosen when it is sent.
  house_wallet_id text REFERENCES house_wallets (id),
  provider_ref    text,
  tx_hash         text,
  block_number    bigint,
  -- Why it is held, or why it failed, in words for the user.
  error           text,
  -- Why it is held, in words for the operator alone.
  held_because    text,
  -- When the operator let it go in spite of that: nobody is asked again.
  released_at     timestamptz,
  created_at      timestamptz NOT NULL DEFAULT now(),
  updated_at      timestamptz NOT NULL DEFAULT now(),
  finished_at     timestamptz,
  CHECK (gross = fee + net),
  CHECK ((finished_at IS NOT NULL) = (status IN ('complete', 'failed')))
);

-- What was asked for never changes, what is finished is finished, and no step is taken that src/withdrawals/states.ts does
-- not know.
CREATE FUNCTION guard_withdrawal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (OLD.account_id, OLD.chain, OLD.asset, OLD.address, OLD.gross, OLD.fee, OLD.net, OLD.idempotency_key)
    IS DISTINCT FROM
     (NEW.account_id, NEW.chain, NEW.asset, NEW.address, NEW.gross, NEW.fee, NEW.net, NEW.idempotency_key)
  THEN
    RAISE EXCEPTION 'withdrawal % cannot become another one', OLD.id USING ERRCODE = 'check_violation';
  END IF;
  IF OLD.finished_at IS NOT NULL OR (NEW.status <> OLD.status AND NOT (NEW.status = ANY (CASE OLD.status
      WHEN 'queued' THEN ARRAY['awaiting_liquidity', 'held']
      WHEN 'held' THEN ARRAY['awaiting_liquidity', 'failed']
      WHEN 'awaiting_liquidity' THEN ARRAY['sending', 'held']
      WHEN 'sending' THEN ARRAY['complete', 'failed']
      ELSE ARRAY[]::text[] END)))
  THEN
    RAISE EXCEPTION 'withdrawal % cannot go from % to %', OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER withdrawals_guard BEFORE UPDATE ON withdrawals FOR EACH ROW EXECUTE FUNCTION guard_withdrawal();

CREATE INDEX withdrawals_by_account ON withdrawals (account_id, id DESC);
CREATE INDEX withdrawals_open ON withdrawals (chain, asset) WHERE finished_at IS NULL;

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
