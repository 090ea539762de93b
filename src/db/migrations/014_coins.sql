-- Coins beside Circle's own currencies. Their tokens take no signature in place of a transaction, so that users' wallets send
-- them by themselves, and are lent the gas for it.

-- What users' wallets hold of the operator's native coin. Like what is in the tank it stands below zero.
INSERT INTO ledger.kinds (code, name) VALUES (38, 'gas_lent');

-- The same for each wallet: what was lent to it and is not spent yet serves the next transaction.
CREATE TABLE lent_gas (
  wallet_id text PRIMARY KEY REFERENCES wallets (id),
  atomic    numeric NOT NULL
);

-- A step is sent by a house wallet or by a user's.
ALTER TABLE chain_steps ADD COLUMN user_wallet_id text REFERENCES wallets (id);
ALTER TABLE chain_steps DROP CONSTRAINT chain_steps_check,
  ADD CONSTRAINT chain_steps_wallet_check CHECK (
    (state = 'waiting') = (wallet_id IS NULL AND user_wallet_id IS NULL)
    AND (wallet_id IS NULL OR user_wallet_id IS NULL));
CREATE INDEX chain_steps_of_user_wallet ON chain_steps (user_wallet_id) WHERE user_wallet_id IS NOT NULL;

CREATE OR REPLACE FUNCTION guard_chain_step() RETURNS trigger LANGUAGE plpgsql AS $$
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

-- What was deposited to one wallet, on its way to the treasury by a transaction of that wallet.
CREATE TABLE coin_sweeps (
  id           text PRIMARY KEY,
  chain        text NOT NULL,
  asset        text NOT NULL,
  wallet_id    text NOT NULL REFERENCES wallets (id),
  address      text NOT NULL CHECK (address ~ '^0x[0-9a-fA-F]{40}$'),
  treasury     text NOT NULL CHECK (treasury ~ '^0x[0-9a-fA-F]{40}$'),
  atomic       numeric NOT NULL CHECK (atomic > 0),
  -- How much gas the transaction may use.
  gas_limit    bigint NOT NULL CHECK (gas_limit > 0),
  -- How often gas was lent for it, and how much the last time: more only when the chain has become dearer meanwhile.
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
-- One at a time for each wallet, whatever it carries: what is lent to it is not counted on twice.
CREATE UNIQUE INDEX coin_sweeps_open ON coin_sweeps (chain, address) WHERE finished_at IS NULL;
CREATE TRIGGER coin_sweeps_guard BEFORE INSERT OR UPDATE ON coin_sweeps
  FOR EACH ROW EXECUTE FUNCTION guard_saga('coin_sweep');

-- What carries a deposit is a sweep of either kind.
ALTER TABLE deposits DROP CONSTRAINT deposits_sweep_id_fkey;
