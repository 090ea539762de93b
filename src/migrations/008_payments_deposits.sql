-- What has come to wallets of ours, what is not believed yet, and what was taken back.

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
  -- Set while a sweep of either kind carries it, and for good when it has arrived.
  sweep_id     text,
  swept_at     timestamptz,
  -- The step that has expected it at a house wallet: it is that step's.
  step_id      uuid REFERENCES chain_steps (id),
  -- The payment for a call that it is, at a house wallet. Its table comes later, and refers to others that do.
  claim_id     text,
  -- A deposit that was held to be carried home: the bridge that carries it, when it is tried again after one that failed, and
  -- when its owner has chosen to keep it where it is.
  home_bound   boolean NOT NULL DEFAULT false,
  bridge_id    text REFERENCES bridges (id),
  carry_after  timestamptz,
  kept_at      timestamptz,
  -- Credited on the word of one node alone: what came so within an hour counts together.
  one_node     boolean NOT NULL DEFAULT false,
  -- When it was seen that the chain shows it no more.
  vanished_at  timestamptz,
  -- It was booked as surplus first; another posting has moved it to the account that its step names.
  reclaimed_at timestamptz,
  created_at   timestamptz NOT NULL DEFAULT now(),
  UNIQUE (chain, tx_hash, position),
  CHECK (home_bound OR (bridge_id IS NULL AND kept_at IS NULL)),
  CHECK (bridge_id IS NULL OR kept_at IS NULL)
);
CREATE INDEX deposits_by_account ON deposits (account_id, id DESC);
CREATE INDEX deposits_unswept ON deposits (chain, asset, address) WHERE swept_at IS NULL;
-- What is ahead of the cursor is looked for with every report.
CREATE INDEX deposits_by_block ON deposits (chain, block_number);
CREATE INDEX deposits_home_bound ON deposits (chain, account_id)
  WHERE home_bound AND bridge_id IS NULL AND kept_at IS NULL;
CREATE INDEX deposits_of_bridge ON deposits (bridge_id) WHERE bridge_id IS NOT NULL;
CREATE INDEX deposits_of_one_node ON deposits (chain, created_at) WHERE one_node;
CREATE INDEX deposits_vanished ON deposits (id) WHERE vanished_at IS NOT NULL;

CREATE TRIGGER deposits_note_new AFTER INSERT ON deposits REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION note_unswept();
CREATE TRIGGER deposits_note_changed AFTER UPDATE ON deposits REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION note_unswept();

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

-- What the receipt of a surplus arrival proves. After a restore a step may learn only later that it has brought just this.
CREATE TABLE surplus_proofs (
  chain      text NOT NULL,
  proof      text NOT NULL,
  deposit_id text NOT NULL REFERENCES deposits (id),
  PRIMARY KEY (chain, proof, deposit_id)
);

-- A deposit that the operator has taken back. Once: the key is the deposit.
CREATE TABLE deposit_reversals (
  deposit_id  text PRIMARY KEY REFERENCES deposits (id),
  -- Null when it was surplus of the house.
  account_id  bigint REFERENCES accounts (id),
  asset       text NOT NULL,
  -- What was still in the balance, and what was not: that is owed.
  taken       numeric NOT NULL CHECK (taken >= 0),
  owed        numeric NOT NULL CHECK (owed >= 0),
  -- How much of what is owed was collected or written off.
  settled     numeric NOT NULL DEFAULT 0 CONSTRAINT deposit_reversals_settled_check CHECK (settled BETWEEN 0 AND owed),
  reversed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  CHECK (taken + owed > 0)
);
CREATE INDEX deposit_reversals_owed ON deposit_reversals (account_id) WHERE owed > 0;

-- Each time that the operator has settled a part of it. The ledger knows the posting by deposit and number.
CREATE TABLE reversal_settlements (
  deposit_id text NOT NULL REFERENCES deposits (id),
  number     integer NOT NULL CHECK (number > 0),
  kind       text NOT NULL CHECK (kind IN ('collected', 'written_off')),
  atomic     numeric NOT NULL CHECK (atomic > 0),
  settled_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (deposit_id, number)
);
