-- Clients that are connected over OAuth.
-- serves_from: 16

-- A client holds a key by tokens, and the key has no secret of its own. NOT VALID: the rows that are there obeyed a stricter rule.
ALTER TABLE api_keys ALTER COLUMN key_hash DROP NOT NULL, DROP CONSTRAINT api_keys_last4_check,
  ADD CONSTRAINT api_keys_last4 CHECK (length(last4) = CASE WHEN key_hash IS NULL THEN 0 ELSE 4 END) NOT VALID;

-- What the owner has granted a client. Tokens are signed and not stored.
CREATE TABLE oauth_grants (
  key_id       text PRIMARY KEY REFERENCES api_keys (id),
  account_id   bigint NOT NULL REFERENCES accounts (id),
  client_id    text NOT NULL,
  -- Where the client answers, for the owner.
  client_host  text NOT NULL,
  resource     text NOT NULL CHECK (resource IN ('mcp', 'api')),
  -- The code with which the client takes the grant.
  code_hash    bytea NOT NULL CONSTRAINT oauth_grants_code_key UNIQUE,
  code_ends_at timestamptz NOT NULL,
  redirect_uri text NOT NULL,
  challenge    text NOT NULL,
  taken_at     timestamptz,
  -- The number of the newest refresh token. All before it were used.
  refreshes    integer NOT NULL DEFAULT 0 CHECK (refreshes >= 0)
);
CREATE INDEX oauth_grants_by_account ON oauth_grants (account_id);
