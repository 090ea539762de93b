-- How many bytes of answers of others were kept for an account on a day, so that nobody fills the disk with them.
-- serves_from: 35
CREATE TABLE kept_bytes (
  account_id bigint NOT NULL REFERENCES accounts (id),
  day        date NOT NULL,
  kind       text COLLATE "C" NOT NULL CHECK (kind IN ('free', 'paid')),
  bytes      bigint NOT NULL DEFAULT 0 CHECK (bytes >= 0),
  PRIMARY KEY (account_id, day, kind)
);
