-- What one node of a chain says is believed up to a limit. Whatever is more waits here until a second, independent node shows
-- the same, or the operator decides.
CREATE TABLE held_deposits (
  -- Compared byte by byte, so that the order of ids is the order of time. It becomes the id of the deposit.
  id           text COLLATE "C" PRIMARY KEY,
  chain        text NOT NULL,
  tx_hash      text NOT NULL,
  position     integer NOT NULL,
  block_number bigint NOT NULL,
  -- Null when it came to a house wallet.
  account_id   bigint REFERENCES accounts (id),
  address      text NOT NULL,
  sender       text NOT NULL,
  asset        text NOT NULL,
  atomic       numeric NOT NULL CHECK (atomic > 0),
  -- Everything that its receipt proves about it, as the one node has told it.
  proofs       text[] NOT NULL,
  -- What it waits for, in words for the operator.
  because      text NOT NULL,
  -- The last that the log has told of it, so that it tells each thing once.
  told         text,
  seen_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
  look_after   timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The operator believes it: it is credited by the next look.
  released_at  timestamptz,
  -- The operator does not: it is never credited, however often it is read.
  rejected_at  timestamptz,
  CHECK (released_at IS NULL OR rejected_at IS NULL)
);
CREATE UNIQUE INDEX held_deposits_open ON held_deposits (chain, tx_hash, position) WHERE rejected_at IS NULL;
-- Should the chain show something else in its place, that is another deposit.
CREATE UNIQUE INDEX held_deposits_rejected ON held_deposits (chain, tx_hash, position, address, asset, atomic)
  WHERE rejected_at IS NOT NULL;
CREATE INDEX held_deposits_by_account ON held_deposits (account_id, id DESC) WHERE rejected_at IS NULL;

-- What was decided is decided.
CREATE FUNCTION guard_held_deposit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.rejected_at IS NOT NULL THEN
    RAISE EXCEPTION 'held deposit % was rejected', OLD.id USING ERRCODE = 'check_violation';
  END IF;
  IF TG_OP = 'DELETE' THEN
    RETURN OLD;
  END IF;
  IF (OLD.id, OLD.chain, OLD.tx_hash, OLD.position) IS DISTINCT FROM (NEW.id, NEW.chain, NEW.tx_hash, NEW.position)
    OR OLD.released_at IS NOT NULL AND
       (OLD.released_at, OLD.account_id, OLD.address, OLD.asset, OLD.atomic)
         IS DISTINCT FROM (NEW.released_at, NEW.account_id, NEW.address, NEW.asset, NEW.atomic)
  THEN
    RAISE EXCEPTION 'held deposit % cannot become another one', OLD.id USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER held_deposits_guard BEFORE UPDATE OR DELETE ON held_deposits
  FOR EACH ROW EXECUTE FUNCTION guard_held_deposit();

-- Credited on the word of one node alone: what came so within an hour counts together.
ALTER TABLE deposits
  ADD COLUMN one_node boolean NOT NULL DEFAULT false,
  -- When it was seen that the chain shows it no more.
  ADD COLUMN vanished_at timestamptz;
CREATE INDEX deposits_of_one_node ON deposits (chain, created_at) WHERE one_node;
CREATE INDEX deposits_vanished ON deposits (id) WHERE vanished_at IS NOT NULL;
ALTER TABLE undecided_arrivals ADD COLUMN one_node boolean NOT NULL DEFAULT false;

-- What was credited for deposits that the chain has lost, taken back and already spent: their owners owe it to the house.
INSERT INTO ledger.kinds (code, name) VALUES (39, 'reversals_in_transit');

-- A deposit that the operator has taken back. Once: the key is the deposit.
CREATE TABLE deposit_reversals (
  deposit_id  text PRIMARY KEY REFERENCES deposits (id),
  -- Null when it was surplus of the house.
  account_id  bigint REFERENCES accounts (id),
  asset       text NOT NULL,
  -- What was still in the balance, and what was not: that is owed.
  taken       numeric NOT NULL CHECK (taken >= 0),
  owed        numeric NOT NULL CHECK (owed >= 0),
  reversed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  CHECK (taken + owed > 0)
);
CREATE INDEX deposit_reversals_owed ON deposit_reversals (account_id) WHERE owed > 0;
