-- USDC transfers between chains over CCTP, and which accounts keep deposits on which chain.

CREATE TABLE bridges (
  id             text PRIMARY KEY,
  account_id     bigint NOT NULL REFERENCES accounts (id),
  from_chain     text NOT NULL,
  to_chain       text NOT NULL,
  asset          text NOT NULL,
  amount         numeric NOT NULL CHECK (amount > 0),
  -- The gas cost of both ends, in the same asset. It was taken from the balance beside the amount and is returned with
  -- it; the house earns it with the burn.
  gas_fee        numeric NOT NULL CHECK (gas_fee >= 0),
  -- `request`: a user asked for it. `deposit`: it brings a deposit on another chain to the home chain.
  origin         text NOT NULL CHECK (origin IN ('request', 'deposit')),
  -- The house wallet that burns on from_chain.
  burner_id      text NOT NULL REFERENCES house_wallets (id),
  status         text NOT NULL,
  -- When each state was last reached.
  reached        jsonb NOT NULL DEFAULT '{}',
  -- The number of the current burn: 1, plus one for each burn that a reorg has permanently undone.
  burns          integer NOT NULL DEFAULT 1 CHECK (burns > 0),
  -- The most that CCTP may charge, and the treasury that receives the rest. Known before the burn.
  max_fee        numeric CHECK (max_fee >= 0),
  mint_recipient text CHECK (mint_recipient ~ '^0x[0-9a-f]{40}$'),
  -- The burn's transaction and its nonce: once another transaction has used that nonce, the burn cannot come back.
  burn_hash      text,
  burn_nonce     bigint,
  -- The attestation service's message and attestation as received, and the message's nonce.
  message        text,
  attestation    text,
  message_nonce  text CHECK (message_nonce ~ '^0x[0-9a-f]{64}$'),
  -- How often a mint was attempted.
  mints          integer NOT NULL DEFAULT 0,
  -- The amount less CCTP's fee, and the mint's transaction, no matter who sent it.
  minted         numeric CHECK (minted > 0 AND minted <= amount),
  mint_hash      text,
  -- Why it failed, for its owner.
  error          text,
  status_since   timestamptz NOT NULL DEFAULT clock_timestamp(),
  waits_for      text,
  created_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  finished_at    timestamptz,
  CHECK (from_chain <> to_chain),
  CHECK (minted IS NULL OR status = 'completed')
);
CREATE INDEX bridges_by_account ON bridges (account_id, id DESC);
CREATE INDEX bridges_open ON bridges (status_since) WHERE finished_at IS NULL;
CREATE TRIGGER bridges_guard BEFORE INSERT OR UPDATE ON bridges FOR EACH ROW EXECUTE FUNCTION guard_saga('bridge');

CREATE FUNCTION note_bridge_state() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' OR NEW.status <> OLD.status THEN
    NEW.reached := NEW.reached || jsonb_build_object(NEW.status, clock_timestamp());
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER bridges_states BEFORE INSERT OR UPDATE ON bridges FOR EACH ROW EXECUTE FUNCTION note_bridge_state();

-- The chains other than the home chain where an account keeps deposits. Elsewhere USDC is brought home.
CREATE TABLE cross_chain_wallets (
  account_id bigint NOT NULL REFERENCES accounts (id),
  chain      text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (account_id, chain)
);

-- When the attestation service may be asked next: one row for all instances.
CREATE TABLE attestation_turns (
  id      integer PRIMARY KEY DEFAULT 1 CHECK (id = 1),
  next_at timestamptz NOT NULL
);
INSERT INTO attestation_turns (next_at) VALUES (clock_timestamp());
