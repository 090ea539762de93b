-- How far the chains were read, our steps on them, and how deposits get to the treasury.

-- How far each chain has been read. Everything up to block_number is credited.
CREATE TABLE chain_cursors (
  chain        text PRIMARY KEY,
  block_number bigint NOT NULL,
  block_hash   text NOT NULL,
  -- One process reads a chain at a time; when its lease expires, another takes over.
  leased_by    text,
  leased_until timestamptz,
  read_at      timestamptz NOT NULL DEFAULT now()
);

-- Blocks that were read, to notice a reorg deeper than the confirmations.
CREATE TABLE chain_checkpoints (
  chain        text NOT NULL,
  block_number bigint NOT NULL,
  block_hash   text NOT NULL,
  PRIMARY KEY (chain, block_number)
);

-- A request to a wallet provider: one transaction of one wallet, for one saga.
CREATE TABLE chain_steps (
  -- The idempotency key of the request, stored before the provider is asked.
  id             uuid PRIMARY KEY,
  saga           text NOT NULL,
  saga_id        text NOT NULL,
  -- Its role in the saga: pay, submit, move, burn …
  step           text NOT NULL,
  chain          text NOT NULL,
  -- The house wallet that sends it; null while it waits for liquidity.
  wallet_id      text REFERENCES house_wallets (id),
  -- Or the user's.
  user_wallet_id text REFERENCES wallets (id),
  state          text NOT NULL CHECK (state IN ('waiting', 'ready', 'asked', 'taken', 'confirmed', 'failed')),
  -- Written before the first request: from here on the provider may have taken it, even if we crash.
  asked_at       timestamptz,
  -- The time of the last request without an answer. A refusal proves nothing while that request may still arrive.
  unanswered_at  timestamptz,
  provider_ref   text,
  -- The known transactions: a stuck one is replaced, and any of them may be mined.
  hash           text,
  hashes         text[] NOT NULL DEFAULT '{}',
  block_number   bigint,
  gas_cost       numeric,
  reason         text,
  created_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- When its end was posted to the books.
  settled_at     timestamptz,
  UNIQUE (saga_id, step),
  CONSTRAINT chain_steps_wallet_check CHECK (
    (state = 'waiting') = (wallet_id IS NULL AND user_wallet_id IS NULL)
    AND (wallet_id IS NULL OR user_wallet_id IS NULL)),
  CHECK (asked_at IS NOT NULL OR state IN ('waiting', 'ready')),
  CHECK ((state IN ('confirmed', 'failed')) = (settled_at IS NOT NULL)),
  CHECK (provider_ref IS NOT NULL OR state NOT IN ('taken'))
);
-- For busy wallets, open steps of a chain, and transactions that a provider reports.
CREATE INDEX chain_steps_of_wallet ON chain_steps (wallet_id) WHERE settled_at IS NULL;
CREATE INDEX chain_steps_of_user_wallet ON chain_steps (user_wallet_id) WHERE user_wallet_id IS NOT NULL;
CREATE INDEX chain_steps_open ON chain_steps (chain) WHERE settled_at IS NULL;
CREATE INDEX chain_steps_by_ref ON chain_steps (provider_ref) WHERE provider_ref IS NOT NULL;
CREATE INDEX chain_steps_by_hash ON chain_steps (chain, hash) WHERE hash IS NOT NULL;
CREATE INDEX chain_steps_by_block ON chain_steps (chain, block_number) WHERE state = 'confirmed';

-- A step that was ever asked for is never deleted or changed into another.
CREATE FUNCTION guard_chain_step() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    IF OLD.asked_at IS NOT NULL THEN
      RAISE EXCEPTION 'step % was asked for and cannot be forgotten', OLD.id USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN OLD;
  END IF;
  IF (OLD.id, OLD.saga, OLD.saga_id, OLD.step, OLD.chain) IS DISTINCT FROM
     (NEW.id, NEW.saga, NEW.saga_id, NEW.step, NEW.chain)
    OR (OLD.asked_at IS NOT NULL AND (OLD.asked_at, OLD.wallet_id, OLD.user_wallet_id)
          IS DISTINCT FROM (NEW.asked_at, NEW.wallet_id, NEW.user_wallet_id))
    OR (OLD.provider_ref IS NOT NULL AND OLD.provider_ref IS DISTINCT FROM NEW.provider_ref)
  THEN
    RAISE EXCEPTION 'step % cannot become another one', OLD.id USING ERRCODE = 'check_violation';
  END IF;
  IF OLD.settled_at IS NOT NULL THEN
    RAISE EXCEPTION 'step % is settled', OLD.id USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER chain_steps_guard BEFORE UPDATE OR DELETE ON chain_steps
  FOR EACH ROW EXECUTE FUNCTION guard_chain_step();

-- What a step takes from its wallet. Until it is settled, the amount is reserved.
CREATE TABLE chain_step_leaves (
  step_id             uuid NOT NULL REFERENCES chain_steps (id) ON DELETE CASCADE,
  chain               text NOT NULL,
  wallet_id           text REFERENCES house_wallets (id),
  asset               text NOT NULL,
  atomic              numeric NOT NULL CHECK (atomic > 0),
  -- Null when there is no single recipient.
  recipient           text,
  -- The recipient is another wallet of ours.
  stays               boolean NOT NULL DEFAULT false,
  -- First come, first served.
  waiting_since       timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Since when it is first in the queue without enough tokens, and when others were let past it.
  short_since         timestamptz,
  passed_at           timestamptz,
  settled_at          timestamptz NOT NULL DEFAULT 'infinity',
  -- For a signed authorization, which its holder may submit alone or with others. The token shows by the nonce whether
  -- it was used.
  authorization_nonce text CHECK (authorization_nonce ~ '^0x[0-9a-f]{64}$'),
  PRIMARY KEY (step_id, asset)
);
-- The end of this index tells how much of a wallet is reserved, however much it has ever paid.
CREATE INDEX chain_step_leaves_promised ON chain_step_leaves (wallet_id, asset, settled_at) INCLUDE (atomic);
CREATE INDEX chain_step_leaves_queue ON chain_step_leaves (chain, asset, waiting_since, step_id) WHERE wallet_id IS NULL;
CREATE UNIQUE INDEX chain_step_leaves_by_nonce ON chain_step_leaves (authorization_nonce)
  WHERE authorization_nonce IS NOT NULL;

-- What a step is expected to bring to a house wallet, and the ledger account that it is for.
CREATE TABLE chain_step_arrivals (
  step_id    uuid NOT NULL REFERENCES chain_steps (id) ON DELETE CASCADE,
  chain      text NOT NULL,
  -- The house wallet's, in lower case.
  address    text NOT NULL CHECK (address ~ '^0x[0-9a-f]{40}$'),
  asset      text NOT NULL,
  -- Null when only the chain will show it.
  atomic     numeric CHECK (atomic > 0),
  account_id bigint NOT NULL,
  -- How it is recognized: by our own transaction, or by a proof in the receipt of anyone's transaction.
  known_by   text NOT NULL CHECK (known_by IN ('transaction', 'proof')),
  -- What the receipt must prove, such as eip3009:<token>:<authorizer>:<nonce>; null until known.
  proof      text,
  arrived_at timestamptz,
  -- It will never arrive.
  ended_at   timestamptz,
  PRIMARY KEY (step_id, asset),
  CHECK (known_by = 'proof' OR proof IS NULL)
);
CREATE INDEX chain_step_arrivals_open ON chain_step_arrivals (chain, address, asset)
  WHERE arrived_at IS NULL AND ended_at IS NULL;
CREATE UNIQUE INDEX chain_step_arrivals_proof ON chain_step_arrivals (chain, proof) WHERE proof IS NOT NULL;

-- Arrivals at a house wallet that cannot yet be told from what a step expects.
CREATE TABLE undecided_arrivals (
  chain        text NOT NULL,
  tx_hash      text NOT NULL,
  position     integer NOT NULL,
  block_number bigint NOT NULL,
  address      text NOT NULL,
  sender       text NOT NULL,
  asset        text NOT NULL,
  atomic       numeric NOT NULL CHECK (atomic > 0),
  -- Everything that its receipt proves about it.
  proofs       text[] NOT NULL,
  seen_at      timestamptz NOT NULL DEFAULT now(),
  looked_at    timestamptz NOT NULL DEFAULT '-infinity',
  -- Only one node of the chain shows it.
  one_node     boolean NOT NULL DEFAULT false,
  PRIMARY KEY (chain, tx_hash, position)
);

-- A sweep moves deposits to the treasury: one transaction with an authorization signed by each wallet.
CREATE TABLE sweeps (
  id           text PRIMARY KEY,
  chain        text NOT NULL,
  asset        text NOT NULL,
  status       text NOT NULL,
  status_since timestamptz NOT NULL DEFAULT clock_timestamp(),
  waits_for    text,
  created_at   timestamptz NOT NULL DEFAULT now(),
  updated_at   timestamptz NOT NULL DEFAULT now(),
  finished_at  timestamptz
);
CREATE INDEX sweeps_open ON sweeps (chain) WHERE finished_at IS NULL;
CREATE TRIGGER sweeps_guard BEFORE INSERT OR UPDATE ON sweeps FOR EACH ROW EXECUTE FUNCTION guard_saga('sweep');

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

-- Coins other than Circle's currencies do not support signed authorizations, so users' wallets send them in
-- transactions of their own, with borrowed gas. One row moves one wallet's deposits to the treasury.
CREATE TABLE coin_sweeps (
  id           text PRIMARY KEY,
  chain        text NOT NULL,
  asset        text NOT NULL,
  wallet_id    text NOT NULL REFERENCES wallets (id),
  address      text NOT NULL CHECK (address ~ '^0x[0-9a-fA-F]{40}$'),
  treasury     text NOT NULL CHECK (treasury ~ '^0x[0-9a-fA-F]{40}$'),
  atomic       numeric NOT NULL CHECK (atomic > 0),
  gas_limit    bigint NOT NULL CHECK (gas_limit > 0),
  -- How often gas was lent for it, and how much the last time: more only after fees have risen.
  loans        integer NOT NULL DEFAULT 0 CHECK (loans >= 0),
  loan         numeric CHECK (loan > 0),
  status       text NOT NULL,
  status_since timestamptz NOT NULL DEFAULT clock_timestamp(),
  waits_for    text,
  created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
  finished_at  timestamptz,
  CHECK ((loans = 0) = (loan IS NULL))
);
-- One at a time per wallet, for any coin, so that its loan is not counted twice.
CREATE UNIQUE INDEX coin_sweeps_open ON coin_sweeps (chain, address) WHERE finished_at IS NULL;
CREATE TRIGGER coin_sweeps_guard BEFORE INSERT OR UPDATE ON coin_sweeps
  FOR EACH ROW EXECUTE FUNCTION guard_saga('coin_sweep');

-- The unswept deposits of each wallet that no sweep carries yet, to find wallets worth sweeping through an index.
CREATE TABLE unswept_wallets (
  chain   text NOT NULL,
  asset   text NOT NULL,
  address text NOT NULL,
  atomic  numeric NOT NULL CHECK (atomic > 0),
  PRIMARY KEY (chain, asset, address)
);
CREATE INDEX unswept_wallets_by_amount ON unswept_wallets (chain, asset, atomic DESC, address);

-- Wallets whose sum must be recounted. Crediting a deposit only inserts here, and so never waits for a lock; the next
-- sweep removes the rows and recounts.
CREATE TABLE unswept_changes (
  id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  chain   text NOT NULL,
  asset   text NOT NULL,
  address text NOT NULL
);
CREATE INDEX unswept_changes_by_asset ON unswept_changes (chain, asset);

-- For the triggers of deposits.
CREATE FUNCTION note_unswept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO unswept_changes (chain, asset, address)
    SELECT DISTINCT chain, asset, address FROM changed WHERE account_id IS NOT NULL;
  RETURN NULL;
END $$;

-- Sweeps from users' wallets that this database does not know, found through their logs.
CREATE TABLE forgotten_sweeps (
  chain        text NOT NULL,
  tx_hash      text NOT NULL,
  position     integer NOT NULL,
  block_number bigint NOT NULL,
  asset        text NOT NULL,
  address      text NOT NULL,
  atomic       numeric NOT NULL CHECK (atomic > 0),
  found_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (chain, tx_hash, position)
);

-- Moves what a retired house wallet holds to its replacement. One at a time per wallet and coin.
CREATE TABLE house_moves (
  id           text PRIMARY KEY,
  chain        text NOT NULL,
  from_wallet  text NOT NULL REFERENCES house_wallets (id),
  to_wallet    text NOT NULL REFERENCES house_wallets (id),
  -- Null for native coin.
  token        text,
  atomic       numeric NOT NULL CHECK (atomic > 0),
  status       text NOT NULL,
  status_since timestamptz NOT NULL DEFAULT clock_timestamp(),
  waits_for    text,
  created_at   timestamptz NOT NULL DEFAULT now(),
  updated_at   timestamptz NOT NULL DEFAULT now(),
  finished_at  timestamptz
);
CREATE UNIQUE INDEX house_moves_open ON house_moves (from_wallet, coalesce(token, '')) WHERE finished_at IS NULL;
CREATE TRIGGER house_moves_guard BEFORE INSERT OR UPDATE ON house_moves
  FOR EACH ROW EXECUTE FUNCTION guard_saga('house_move');
