-- Keys that are replaced by another one.
-- serves_from: 35
ALTER TABLE api_keys
  -- The key that replaces this one. The old key goes on working until its expires_at, which the rotation sets.
  ADD COLUMN rotated_to text REFERENCES api_keys (id) CHECK (rotated_to <> id);
