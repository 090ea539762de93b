-- The secrets that this database was ever sealed with, by their fingerprints. One is in use; the others were replaced.
CREATE TABLE operator_secrets (
  fingerprint      bytea PRIMARY KEY CHECK (octet_length(fingerprint) = 16),
  first_used_at    timestamptz NOT NULL DEFAULT now(),
  -- From here on another one seals, and this one is not taken any more.
  retired_at       timestamptz,
  -- From here on nothing is left that only this one opens.
  resealed_at      timestamptz,
  -- What it has hashed with, sealed with the one in use: API keys that it has hashed are recognised by them, and nothing can be
  -- opened.
  sealed_hash_keys bytea,
  CHECK ((retired_at IS NULL) = (sealed_hash_keys IS NULL)),
  CHECK (resealed_at IS NULL OR retired_at IS NOT NULL)
);
CREATE UNIQUE INDEX operator_secrets_in_use ON operator_secrets ((true)) WHERE retired_at IS NULL;
