-- What makes every owner whole after a restore from a backup.

-- What the receipt of a surplus arrival proves. After a restore a step may learn only later that it has brought just this.
CREATE TABLE surplus_proofs (
  chain      text NOT NULL,
  proof      text NOT NULL,
  deposit_id text NOT NULL REFERENCES deposits (id),
  PRIMARY KEY (chain, proof, deposit_id)
);

-- It was booked as surplus first; another posting has moved it to the account that its step names.
ALTER TABLE deposits ADD COLUMN reclaimed_at timestamptz;

-- What a user's wallet has sent to the house by a sweep that this database does not know, as its log tells.
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

-- A seed gives wallets only once the operator has confirmed that a backup holds it: what a lost seed has received is lost. The
-- seeds that are there give wallets already.
ALTER TABLE wallet_seeds ADD COLUMN backed_up_at timestamptz;
UPDATE wallet_seeds SET backed_up_at = clock_timestamp();
