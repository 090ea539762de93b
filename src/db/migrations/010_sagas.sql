-- How every saga runs, and what we ask a wallet provider to do for one.

-- What a release has declared of its sagas: each state with those that may follow, and the columns that never change.
-- src/sagas/declare-sagas.ts keeps it; the guard below reads it.
CREATE TABLE sagas (
  name   text PRIMARY KEY,
  states jsonb NOT NULL,
  fixed  text[] NOT NULL
);

-- On every saga's table, with the saga's name. What was asked for never changes, what is finished is finished, and no step
-- is taken that was not declared. Without a declaration nothing moves at all.
CREATE FUNCTION guard_saga() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  saga CONSTANT text := TG_ARGV[0];
  declared sagas%ROWTYPE;
  before jsonb;
  after jsonb;
BEGIN
  SELECT * INTO declared FROM sagas WHERE name = saga;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'no release has declared what a % may do', saga USING ERRCODE = 'check_violation';
  END IF;
  IF NOT declared.states ? NEW.status THEN
    RAISE EXCEPTION 'a % cannot be %', saga, NEW.status USING ERRCODE = 'check_violation';
  END IF;
  IF TG_OP = 'UPDATE' AND NEW.id <> OLD.id THEN
    RAISE EXCEPTION '% % cannot become another one', saga, OLD.id USING ERRCODE = 'check_violation';
  END IF;
  IF (NEW.finished_at IS NOT NULL) <> (declared.states -> NEW.status = '[]') THEN
    RAISE EXCEPTION '% % is %, and finished at %', saga, NEW.id, NEW.status, NEW.finished_at
      USING ERRCODE = 'check_violation';
  END IF;
  IF TG_OP = 'INSERT' THEN RETURN NEW; END IF;

  before := to_jsonb(OLD);
  after := to_jsonb(NEW);
  IF EXISTS (SELECT FROM unnest(declared.fixed) f (name) WHERE before -> f.name IS DISTINCT FROM after -> f.name) THEN
    RAISE EXCEPTION '% % cannot become another one', saga, OLD.id USING ERRCODE = 'check_violation';
  END IF;
  IF OLD.finished_at IS NOT NULL
    OR (NEW.status <> OLD.status AND NOT coalesce(declared.states -> OLD.status, '[]') ? NEW.status)
  THEN
    RAISE EXCEPTION '% % cannot go from % to %', saga, OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
  END IF;
  IF NEW.status <> OLD.status THEN
    NEW.status_since := clock_timestamp();
    NEW.waits_for := NULL;
  END IF;
  RETURN NEW;
END $$;

-- What we have asked a wallet provider to do, or are about to: one transaction of one house wallet, for one saga.
CREATE TABLE chain_steps (
  -- What the provider knows our request by. It is here before anybody is asked.
  id            uuid PRIMARY KEY,
  saga          text NOT NULL,
  saga_id       text NOT NULL,
  -- What it does for its saga: pay, submit, move, burn …
  step          text NOT NULL,
  chain         text NOT NULL,
  -- The house wallet that sends it; null while it waits for liquidity.
  wallet_id     text REFERENCES house_wallets (id),
  state         text NOT NULL CHECK (state IN ('waiting', 'ready', 'asked', 'taken', 'confirmed', 'failed')),
  -- Written before the provider is first asked: from here on it may have taken it, whatever becomes of us.
  asked_at      timestamptz,
  -- When it was last asked without our knowing an answer. A refusal proves nothing while that request may be on its way.
  unanswered_at timestamptz,
  provider_ref  text,
  -- The transaction as far as it is known; one that is stuck is replaced by another, and either may be mined.
  hash          text,
  hashes        text[] NOT NULL DEFAULT '{}',
  block_number  bigint,
  gas_cost      numeric,
  -- Why it failed.
  reason        text,
  created_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- When its end was written into the books.
  settled_at    timestamptz,
  UNIQUE (saga_id, step),
  CHECK ((state = 'waiting') = (wallet_id IS NULL)),
  CHECK (asked_at IS NOT NULL OR state IN ('waiting', 'ready')),
  CHECK ((state IN ('confirmed', 'failed')) = (settled_at IS NOT NULL)),
  CHECK (provider_ref IS NOT NULL OR state NOT IN ('taken'))
);
-- Whether a wallet is busy, what is under way on a chain, and whose transaction a provider speaks of.
CREATE INDEX chain_steps_of_wallet ON chain_steps (wallet_id) WHERE settled_at IS NULL;
CREATE INDEX chain_steps_open ON chain_steps (chain) WHERE settled_at IS NULL;
CREATE INDEX chain_steps_by_ref ON chain_steps (provider_ref) WHERE provider_ref IS NOT NULL;
CREATE INDEX chain_steps_by_hash ON chain_steps (chain, hash) WHERE hash IS NOT NULL;
CREATE INDEX chain_steps_by_block ON chain_steps (chain, block_number) WHERE state = 'confirmed';

-- A step that was ever asked for stays, as what it was.
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
    OR (OLD.asked_at IS NOT NULL AND (OLD.asked_at, OLD.wallet_id) IS DISTINCT FROM (NEW.asked_at, NEW.wallet_id))
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

-- What a step takes from its wallet. While its end is not in the books it is promised to nobody else.
CREATE TABLE chain_step_leaves (
  step_id       uuid NOT NULL REFERENCES chain_steps (id) ON DELETE CASCADE,
  chain         text NOT NULL,
  wallet_id     text REFERENCES house_wallets (id),
  asset         text NOT NULL,
  atomic        numeric NOT NULL CHECK (atomic > 0),
  -- Who gets it, where that is one address.
  recipient     text,
  -- Another wallet of ours gets it.
  stays         boolean NOT NULL DEFAULT false,
  -- Whoever came first is served first.
  waiting_since timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Since when it is first in line and there is not enough; and when those behind it were let past.
  short_since   timestamptz,
  passed_at     timestamptz,
  settled_at    timestamptz NOT NULL DEFAULT 'infinity',
  PRIMARY KEY (step_id, asset)
);
-- One look at the end of this index tells what of a wallet is promised, however much it has ever paid.
CREATE INDEX chain_step_leaves_promised ON chain_step_leaves (wallet_id, asset, settled_at) INCLUDE (atomic);
CREATE INDEX chain_step_leaves_queue ON chain_step_leaves (chain, asset, waiting_since, step_id) WHERE wallet_id IS NULL;

-- What a step is expected to bring to a house wallet, and the account of the ledger that it is for.
CREATE TABLE chain_step_arrivals (
  step_id    uuid NOT NULL REFERENCES chain_steps (id) ON DELETE CASCADE,
  chain      text NOT NULL,
  -- The house wallet's, in lower case.
  address    text NOT NULL CHECK (address ~ '^0x[0-9a-f]{40}$'),
  asset      text NOT NULL,
  -- Null when only the chain will tell.
  atomic     numeric CHECK (atomic > 0),
  account_id bigint NOT NULL,
  -- How it is recognised: by our own transaction, or by what its receipt proves, whoever sent it.
  known_by   text NOT NULL CHECK (known_by IN ('transaction', 'proof')),
  -- What the receipt must prove, such as eip3009:<token>:<authorizer>:<nonce>; null until it is known.
  proof      text,
  arrived_at timestamptz,
  -- It will not come any more.
  ended_at   timestamptz,
  PRIMARY KEY (step_id, asset),
  CHECK (known_by = 'proof' OR proof IS NULL)
);
CREATE INDEX chain_step_arrivals_open ON chain_step_arrivals (chain, address, asset)
  WHERE arrived_at IS NULL AND ended_at IS NULL;
CREATE UNIQUE INDEX chain_step_arrivals_proof ON chain_step_arrivals (chain, proof) WHERE proof IS NOT NULL;

-- What has come to a house wallet and cannot be told yet from what a step expects.
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
  PRIMARY KEY (chain, tx_hash, position)
);

-- A deposit to a house wallet that a step has expected is that step's.
ALTER TABLE deposits ADD COLUMN step_id uuid REFERENCES chain_steps (id);

-- Withdrawals, sweeps and moves become sagas of this kind. What is under way goes on with its key, reference and hash.
-- Nobody wrote down when it was asked for: at the earliest when it came to be, and without an answer until just now.
DROP TRIGGER withdrawals_guard ON withdrawals;
DROP FUNCTION guard_withdrawal;
ALTER TABLE withdrawals
  ADD COLUMN status_since timestamptz NOT NULL DEFAULT clock_timestamp(),
  ADD COLUMN waits_for text;
UPDATE withdrawals SET status_since = updated_at;

INSERT INTO chain_steps (id, saga, saga_id, step, chain, wallet_id, state, asked_at, unanswered_at, provider_ref, hash,
    block_number, reason, created_at, settled_at)
  SELECT idempotency_key, 'withdrawal', id, 'pay', chain, house_wallet_id,
      CASE WHEN status = 'awaiting_liquidity' THEN 'waiting' WHEN status = 'complete' THEN 'confirmed'
           WHEN status = 'failed' THEN 'failed' WHEN provider_ref IS NULL THEN 'asked' ELSE 'taken' END,
      CASE WHEN status <> 'awaiting_liquidity' THEN created_at END,
      CASE WHEN status = 'sending' AND provider_ref IS NULL THEN clock_timestamp() END,
      provider_ref, tx_hash, block_number, CASE WHEN status = 'failed' THEN error END, created_at, finished_at
    FROM withdrawals WHERE status = 'awaiting_liquidity' OR house_wallet_id IS NOT NULL;
INSERT INTO chain_step_leaves (step_id, chain, wallet_id, asset, atomic, recipient, waiting_since, settled_at)
  SELECT idempotency_key, chain, house_wallet_id, asset, net, lower(address), created_at, coalesce(finished_at, 'infinity')
    FROM withdrawals WHERE status = 'awaiting_liquidity' OR house_wallet_id IS NOT NULL;

DROP INDEX withdrawals_by_block;
-- Its states are declared by the release now, and watched over by the guard of all sagas.
ALTER TABLE withdrawals DROP CONSTRAINT withdrawals_status_check, DROP CONSTRAINT withdrawals_check1,
  DROP COLUMN idempotency_key, DROP COLUMN house_wallet_id, DROP COLUMN provider_ref, DROP COLUMN tx_hash,
  DROP COLUMN block_number;
CREATE TRIGGER withdrawals_guard BEFORE INSERT OR UPDATE ON withdrawals
  FOR EACH ROW EXECUTE FUNCTION guard_saga('withdrawal');

ALTER TABLE sweeps
  ADD COLUMN status_since timestamptz NOT NULL DEFAULT clock_timestamp(),
  ADD COLUMN updated_at timestamptz NOT NULL DEFAULT now(),
  ADD COLUMN waits_for text;
UPDATE sweeps SET status_since = coalesce(finished_at, created_at), updated_at = coalesce(finished_at, created_at);
INSERT INTO chain_steps (id, saga, saga_id, step, chain, wallet_id, state, asked_at, unanswered_at, provider_ref, hash,
    created_at, settled_at)
  SELECT idempotency_key, 'sweep', id, 'submit', chain, gas_wallet_id,
      CASE WHEN status = 'complete' AND tx_hash IS NOT NULL THEN 'confirmed' WHEN finished_at IS NOT NULL THEN 'failed'
           WHEN provider_ref IS NULL THEN 'asked' ELSE 'taken' END,
      created_at, CASE WHEN finished_at IS NULL AND provider_ref IS NULL THEN clock_timestamp() END, provider_ref, tx_hash,
      created_at, finished_at
    FROM sweeps WHERE gas_wallet_id IS NOT NULL;
ALTER TABLE sweeps DROP CONSTRAINT sweeps_status_check, DROP COLUMN idempotency_key, DROP COLUMN gas_wallet_id,
  DROP COLUMN provider_ref, DROP COLUMN tx_hash;
CREATE TRIGGER sweeps_guard BEFORE INSERT OR UPDATE ON sweeps FOR EACH ROW EXECUTE FUNCTION guard_saga('sweep');

ALTER TABLE house_moves
  ADD COLUMN status text NOT NULL DEFAULT 'moving',
  ADD COLUMN status_since timestamptz NOT NULL DEFAULT clock_timestamp(),
  ADD COLUMN updated_at timestamptz NOT NULL DEFAULT now(),
  ADD COLUMN waits_for text;
-- One that was undone on the chain has a hash as well; only our own keys have ever moved anything, and they know.
UPDATE house_moves m SET status = CASE WHEN finished_at IS NULL THEN 'moving' WHEN tx_hash IS NULL THEN 'failed'
    WHEN EXISTS (SELECT FROM key_transactions k WHERE k.id = m.idempotency_key AND k.state = 'failed') THEN 'failed'
    ELSE 'complete' END,
  status_since = coalesce(finished_at, created_at), updated_at = coalesce(finished_at, created_at);
-- Nobody wrote down whether a move was asked for, so each that is open may have been.
INSERT INTO chain_steps (id, saga, saga_id, step, chain, wallet_id, state, asked_at, unanswered_at, provider_ref, hash,
    created_at, settled_at)
  SELECT idempotency_key, 'house_move', id, 'move', chain, from_wallet,
      CASE WHEN status = 'complete' THEN 'confirmed' WHEN finished_at IS NOT NULL THEN 'failed'
           WHEN provider_ref IS NULL THEN 'asked' ELSE 'taken' END,
      created_at, CASE WHEN finished_at IS NULL AND provider_ref IS NULL THEN clock_timestamp() END, provider_ref, tx_hash,
      created_at, finished_at
    FROM house_moves;
ALTER TABLE house_moves DROP COLUMN idempotency_key, DROP COLUMN provider_ref, DROP COLUMN tx_hash;
CREATE TRIGGER house_moves_guard BEFORE INSERT OR UPDATE ON house_moves
  FOR EACH ROW EXECUTE FUNCTION guard_saga('house_move');

-- Of what was under way before, one hash is known.
UPDATE chain_steps SET hashes = ARRAY[hash] WHERE hash IS NOT NULL AND settled_at IS NULL;

-- Nobody takes the jobs of withdrawals any more: whoever starts gives every saga a job of its kind. There are none yet in a
-- database that is made just now.
DO $$
BEGIN
  IF to_regclass('graphile_worker._private_jobs') IS NOT NULL THEN
    DELETE FROM graphile_worker._private_jobs j USING graphile_worker._private_tasks t
     WHERE t.id = j.task_id AND t.identifier IN ('advance_withdrawal', 'resume_withdrawals');
  END IF;
END $$;
