-- Keys form a tree, and have policies.
-- serves_from: 16

-- A place in the tree of an account's keys. It is named after its first key, and rotating the key keeps it, so that two keys
-- share a place during the overlap. `path` leads from the root to the place itself; it never changes.
ALTER TABLE api_keys ADD COLUMN place text, ADD COLUMN path text[];
-- Rotated keys share the place of the first.
WITH RECURSIVE line AS (
  SELECT k.id, k.rotated_to, k.id AS place FROM api_keys k
   WHERE NOT EXISTS (SELECT FROM api_keys p WHERE p.rotated_to = k.id)
  UNION ALL
  SELECT k.id, k.rotated_to, l.place FROM line l JOIN api_keys k ON k.id = l.rotated_to
)
UPDATE api_keys k SET place = l.place, path = ARRAY[l.place] FROM line l WHERE l.id = k.id;
ALTER TABLE api_keys ALTER COLUMN place SET NOT NULL, ALTER COLUMN path SET NOT NULL,
  ADD CONSTRAINT api_keys_path CHECK (path[cardinality(path)] = place AND cardinality(path) <= 8);
CREATE INDEX api_keys_by_place ON api_keys (place);

-- A key is a root unless its creator says otherwise: release 0.1.0 does not say.
CREATE FUNCTION root_key() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.place := NEW.id;
  NEW.path := ARRAY[NEW.id];
  RETURN NEW;
END $$;
CREATE TRIGGER api_keys_root BEFORE INSERT ON api_keys FOR EACH ROW WHEN (NEW.place IS NULL) EXECUTE FUNCTION root_key();

-- Counts the changes of an account's policies and of its frozen keys. A payment is posted with the number it was judged by, and
-- is judged again when the number has changed. An account that never had any has no row, which counts as 0.
CREATE TABLE key_stamps (
  account_id bigint PRIMARY KEY REFERENCES accounts (id),
  stamp      bigint NOT NULL CHECK (stamp > 0)
);

-- Freezing a place freezes all below it.
CREATE TABLE frozen_places (
  place      text PRIMARY KEY REFERENCES api_keys (id),
  account_id bigint NOT NULL REFERENCES accounts (id),
  frozen_at  timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX frozen_places_by_account ON frozen_places (account_id);

-- `policy` is the canonical form of {rules, budgets}, and `version` its hash.
CREATE TABLE key_policies (
  place      text PRIMARY KEY REFERENCES api_keys (id),
  account_id bigint NOT NULL REFERENCES accounts (id),
  policy     jsonb NOT NULL,
  version    text NOT NULL,
  changed_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX key_policies_by_account ON key_policies (account_id);

-- Whom an account has paid by transfers and invoices, for rules about known counterparties. It is filled from the ledger when a
-- rule asks, from where the last reading ended. 0 stands for the service itself, whose own endpoints are paid.
CREATE TABLE paid_accounts (
  account_id bigint NOT NULL REFERENCES accounts (id),
  paid_id    bigint NOT NULL,
  PRIMARY KEY (account_id, paid_id)
);

-- How far the postings of a ledger account are read. Along one ledger account the times only rise.
CREATE TABLE paid_cursors (
  ledger_account bigint PRIMARY KEY,
  account_id     bigint NOT NULL REFERENCES accounts (id),
  read_to        timestamptz NOT NULL
);
CREATE INDEX paid_cursors_by_account ON paid_cursors (account_id);
