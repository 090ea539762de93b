-- Keys that are replaced by another one, and emails that change.
-- serves_from: 35
ALTER TABLE api_keys
  -- The key that replaces this one. The old key goes on working until its expires_at, which the rotation sets.
  ADD COLUMN rotated_to text REFERENCES api_keys (id) CHECK (rotated_to <> id);

-- The email that an account wants to have. It is the account's once the codes that were sent to both addresses came back.
CREATE TABLE email_changes (
  account_id        bigint PRIMARY KEY REFERENCES accounts (id),
  email             text NOT NULL CHECK (email = lower(email)),
  -- Keyed hashes of the code at the new address, and of the one at the present address. The second is null if the account had not
  -- verified its present address: it may be another person's.
  code_hash         bytea NOT NULL,
  current_code_hash bytea,
  attempts_left     smallint NOT NULL CHECK (attempts_left >= 0),
  expires_at        timestamptz NOT NULL
);
