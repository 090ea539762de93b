-- Proof of reserves: trees over what everybody is owed, at one moment. src/custody/reserves/README.md says how they are read.

-- Written when it is begun, so that two instances do not begin together; nobody sees it before it is published.
CREATE TABLE reserve_snapshots (
  id           text PRIMARY KEY,
  -- The moment of the one read that everything in it comes from. Part of every leaf, so it is kept in milliseconds.
  taken_at     timestamptz NOT NULL,
  published_at timestamptz
);
CREATE INDEX reserve_snapshots_by_age ON reserve_snapshots (taken_at);

-- One tree for each chain and asset that anybody owns. Roots are small and kept for ever.
CREATE TABLE reserve_trees (
  id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  snapshot_id  text NOT NULL REFERENCES reserve_snapshots (id) ON DELETE CASCADE,
  chain        text NOT NULL,
  asset        text NOT NULL,
  -- All three are null until the snapshot is published. There are 2 ^ depth leaves.
  depth        integer CHECK (depth BETWEEN 1 AND 32),
  root         bytea CHECK (octet_length(root) = 32),
  total        numeric CHECK (total >= 0),
  -- What the ledger owed in the same read. The total says the same unless the house itself owes less than nothing.
  owed         numeric NOT NULL,
  -- How far the chain had been read in the same read; null when it had not been read at all.
  block_number bigint,
  -- What nonces and salts are drawn from. Null once the leaves are gone.
  key          bytea CHECK (octet_length(key) = 32),
  UNIQUE (snapshot_id, chain, asset)
);

-- The nodes of a tree, 32 neighbours to a page: hash (32 bytes) and sum (16 bytes) of each. A page on level n + 1 holds
-- the tops of 32 pages on level n, so a branch is found by reading one page for every five steps.
CREATE TABLE reserve_pages (
  tree_id bigint NOT NULL,
  level   smallint NOT NULL,
  number  integer NOT NULL,
  nodes   bytea NOT NULL,
  PRIMARY KEY (tree_id, level, number)
);
-- Hashes do not compress; trying would only cost time.
ALTER TABLE reserve_pages ALTER COLUMN nodes SET STORAGE EXTERNAL;

-- Where an owner's leaves are: four bytes for each.
CREATE TABLE reserve_owners (
  tree_id    bigint NOT NULL,
  account_id bigint NOT NULL,
  balance    numeric NOT NULL CHECK (balance > 0),
  places     bytea NOT NULL,
  PRIMARY KEY (tree_id, account_id)
);
