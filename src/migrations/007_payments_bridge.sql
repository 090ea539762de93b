-- USDC on its way from one chain to another over Circle's cross-chain protocol, and who keeps what arrives where.

CREATE TABLE bridges (
  id             text PRIMARY KEY,
  account_id     bigint NOT NULL REFERENCES accounts (id),
  from_chain     text NOT NULL,
  to_chain       text NOT NULL,
  asset          text NOT NULL,
  amount         numeric NOT NULL CHECK (amount > 0),
  -- What the network gas of both ends costs its owner, in the asset that is carried. It left the balance beside the amount and
  -- comes back with it; the house earns it with the burn.
  gas_fee        numeric NOT NULL CHECK (gas_fee >= 0),
  -- `request`: somebody asked for it. `deposit`: it carries home what was deposited on another chain.
  origin         text NOT NULL CHECK (origin IN ('request', 'deposit')),
  -- The house wallet that burns on from_chain.
  burner_id      text NOT NULL REFERENCES house_wallets (id),
  status         text NOT NULL,
  -- Each state with the time it was last reached.
  reached        jsonb NOT NULL DEFAULT '{}',
  -- The burn that counts: 1, and one more for each that a reorganisation has undone for good.
  burns          integer NOT NULL DEFAULT 1 CHECK (burns > 0),
  -- The most that the protocol may keep of it, and the treasury that the rest is minted to. Known before it is burnt.
  max_fee        numeric CHECK (max_fee >= 0),
  mint_recipient text CHECK (mint_recipient ~ '^0x[0-9a-f]{40}$'),
  -- The transaction that has burnt it, and its nonce among those of its wallet: once another has used that nonce, the burn
  -- cannot come back.
  burn_hash      text,
  burn_nonce     bigint,
  -- What the attestation service says, word by word, and the nonce that it has given the message.
  message        text,
  attestation    text,
  message_nonce  text CHECK (message_nonce ~ '^0x[0-9a-f]{64}$'),
  -- How often delivering it was begun.
  mints          integer NOT NULL DEFAULT 0,
  -- What arrived: the amount less what the protocol has kept; and the transaction that brought it, whoever sent it.
  minted         numeric CHECK (minted > 0 AND minted <= amount),
  mint_hash      text,
  -- Why it failed, in words for its owner.
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

-- The chains beside the home chain where an account keeps what arrives. Elsewhere USDC is carried home.
CREATE TABLE cross_chain_wallets (
  account_id bigint NOT NULL REFERENCES accounts (id),
  chain      text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (account_id, chain)
);

-- Whose turn it is to ask the attestation service: one row for all instances.
CREATE TABLE attestation_turns (
  id      integer PRIMARY KEY DEFAULT 1 CHECK (id = 1),
  next_at timestamptz NOT NULL
);
INSERT INTO attestation_turns (next_at) VALUES (clock_timestamp());
