-- Proof of reserves: trees over all claims at one moment. src/custody/reserves/README.md explains how they are read.

-- Inserted when it begins, so that two instances do not begin together; invisible until published.
CREATE TABLE reserve_snapshots (
  id           text PRIMARY KEY,
  -- The moment of the read. It is part of every leaf, so it is stored in milliseconds.
  taken_at     timestamptz NOT NULL,
  published_at timestamptz
);
CREATE INDEX reserve_snapshots_by_age ON reserve_snapshots (taken_at);

-- One tree per chain and asset with a claim. Roots are small and kept forever.
CREATE TABLE reserve_trees (
  id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  snapshot_id  text NOT NULL REFERENCES reserve_snapshots (id) ON DELETE CASCADE,
  chain        text NOT NULL,
  asset        text NOT NULL,
  -- All three are null until the snapshot is published. There are 2 ^ depth leaves.
  depth        integer CHECK (depth BETWEEN 1 AND 32),
  root         bytea CHECK (octet_length(root) = 32),
  total        numeric CHECK (total >= 0),
  -- What the ledger owed in the same read. It equals the total unless the house's own balance is negative.
  owed         numeric NOT NULL,
  -- How far the chain had been read; null when it had never been read.
  block_number bigint,
  -- The source of nonces and salts. Null once the leaves are deleted.
  key          bytea CHECK (octet_length(key) = 32),
  UNIQUE (snapshot_id, chain, asset)
);

-- The nodes of a tree, 32 neighbours per page: hash (32 bytes) and sum (16 bytes) of each. A page on level n + 1 holds
-- the tops of 32 pages on level n, so a branch takes one page for every five steps.
CREATE TABLE reserve_pages (
  tree_id bigint NOT NULL,
  level   smallint NOT NULL,
  number  integer NOT NULL,
  nodes   bytea NOT NULL,
  PRIMARY KEY (tree_id, level, number)
);
-- Hashes do not compress, so PostgreSQL need not try.
ALTER TABLE reserve_pages ALTER COLUMN nodes SET STORAGE EXTERNAL;

-- The places of an owner's leaves, four bytes each.
CREATE TABLE reserve_owners (
  tree_id    bigint NOT NULL,
  account_id bigint NOT NULL,
  balance    numeric NOT NULL CHECK (balance > 0),
  places     bytea NOT NULL,
  PRIMARY KEY (tree_id, account_id)
);
