-- Arrivals at our wallets, deposits on hold, and reversals.

-- Every transfer of one of our tokens to one of our wallets, exactly once: its position within the transaction stays
-- the same when a reorg moves the transaction to another block.
CREATE TABLE deposits (
  id           text PRIMARY KEY,
  chain        text NOT NULL,
  tx_hash      text NOT NULL,
  position     integer NOT NULL,
  block_number bigint NOT NULL,
  -- Null for surplus at a house wallet.
  account_id   bigint REFERENCES accounts (id),
  address      text NOT NULL,
  sender       text NOT NULL,
  asset        text NOT NULL,
  atomic       numeric NOT NULL CHECK (atomic > 0),
  -- The posting that credited it.
  transfer_id  text NOT NULL,
  -- Set while a sweep of either kind carries it, and permanently once it has arrived.
  sweep_id     text,
  swept_at     timestamptz,
  -- The step that expected it at a house wallet.
  step_id      uuid REFERENCES chain_steps (id),
  -- The payment for a call, at a house wallet. The foreign key is added once that table exists.
  claim_id     text,
  -- For a deposit to be brought to the home chain: its bridge, when to retry after a failure, and when its owner chose
  -- to keep it where it is.
  home_bound   boolean NOT NULL DEFAULT false,
  bridge_id    text REFERENCES bridges (id),
  carry_after  timestamptz,
  kept_at      timestamptz,
  -- Credited on the word of one node: such deposits within an hour count together.
  one_node     boolean NOT NULL DEFAULT false,
  -- When a reorg removed it from the chain.
  vanished_at  timestamptz,
  -- Booked as surplus first; another posting moved it to the account of its step.
  reclaimed_at timestamptz,
  created_at   timestamptz NOT NULL DEFAULT now(),
  UNIQUE (chain, tx_hash, position),
  CHECK (home_bound OR (bridge_id IS NULL AND kept_at IS NULL)),
  CHECK (bridge_id IS NULL OR kept_at IS NULL)
);
CREATE INDEX deposits_by_account ON deposits (account_id, id DESC);
CREATE INDEX deposits_unswept ON deposits (chain, asset, address) WHERE swept_at IS NULL;
-- Every report reads what is ahead of the cursor.
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

-- A single node is believed up to a limit. Larger deposits wait here until a second, independent node shows the same,
-- or the operator decides.
CREATE TABLE held_deposits (
  -- Compared byte by byte, so that ids sort by time. It becomes the id of the deposit.
  id           text COLLATE "C" PRIMARY KEY,
  chain        text NOT NULL,
  tx_hash      text NOT NULL,
  position     integer NOT NULL,
  block_number bigint NOT NULL,
  -- Null at a house wallet.
  account_id   bigint REFERENCES accounts (id),
  address      text NOT NULL,
  sender       text NOT NULL,
  asset        text NOT NULL,
  atomic       numeric NOT NULL CHECK (atomic > 0),
  -- Everything that its receipt proves, according to the one node.
  proofs       text[] NOT NULL,
  -- What it waits for, for the operator.
  because      text NOT NULL,
  -- The last reason that was logged, so that each is logged once.
  told         text,
  seen_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
  look_after   timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The operator accepted it: the next check credits it.
  released_at  timestamptz,
  -- The operator rejected it: it is never credited, however often it is read.
  rejected_at  timestamptz,
  CHECK (released_at IS NULL OR rejected_at IS NULL)
);
CREATE UNIQUE INDEX held_deposits_open ON held_deposits (chain, tx_hash, position) WHERE rejected_at IS NULL;
-- A different transfer in the same place is another deposit.
CREATE UNIQUE INDEX held_deposits_rejected ON held_deposits (chain, tx_hash, position, address, asset, atomic)
  WHERE rejected_at IS NOT NULL;
CREATE INDEX held_deposits_by_account ON held_deposits (account_id, id DESC) WHERE rejected_at IS NULL;

-- A decision is final.
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

-- What the receipt of a surplus arrival proves. After a restore, a step may learn only later that it brought this
-- arrival.
CREATE TABLE surplus_proofs (
  chain      text NOT NULL,
  proof      text NOT NULL,
  deposit_id text NOT NULL REFERENCES deposits (id),
  PRIMARY KEY (chain, proof, deposit_id)
);

-- A deposit that the operator reversed, at most once.
CREATE TABLE deposit_reversals (
  deposit_id  text PRIMARY KEY REFERENCES deposits (id),
  -- Null for surplus of the house.
  account_id  bigint REFERENCES accounts (id),
  asset       text NOT NULL,
  -- What was still in the balance, and what was not and is now owed.
  taken       numeric NOT NULL CHECK (taken >= 0),
  owed        numeric NOT NULL CHECK (owed >= 0),
  -- The part of `owed` that was collected or written off.
  settled     numeric NOT NULL DEFAULT 0 CONSTRAINT deposit_reversals_settled_check CHECK (settled BETWEEN 0 AND owed),
  reversed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  CHECK (taken + owed > 0)
);
CREATE INDEX deposit_reversals_owed ON deposit_reversals (account_id) WHERE owed > 0;

-- Each settlement by the operator. Its posting's reference contains deposit and number.
CREATE TABLE reversal_settlements (
  deposit_id text NOT NULL REFERENCES deposits (id),
  number     integer NOT NULL CHECK (number > 0),
  kind       text NOT NULL CHECK (kind IN ('collected', 'written_off')),
  atomic     numeric NOT NULL CHECK (atomic > 0),
  settled_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (deposit_id, number)
);
