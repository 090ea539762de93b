-- What a wallet of ours has sent and this database does not know of: it was restored from a backup, and the chain went on in
-- between. One of these may have paid what is still to be paid here, so whatever looks like it waits until a person decides.
CREATE TABLE unknown_transactions (
  id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  chain        text NOT NULL,
  sender       text NOT NULL,
  nonce        bigint NOT NULL,
  -- Null when no node could say what has used the nonce: then it may have been anything.
  hash         text,
  recipient    text,
  data         bytea,
  value        numeric,
  gas_limit    bigint,
  max_fee      numeric,
  priority_fee numeric,
  block_number bigint,
  -- With its signature.
  raw          bytea,
  found_at     timestamptz NOT NULL DEFAULT now(),
  -- `paid`: it is the transaction of a step here; `unrelated`: of none; `undone`: it has moved nothing.
  decision     text CHECK (decision IN ('paid', 'unrelated', 'undone')),
  decided_at   timestamptz,
  UNIQUE (chain, sender, nonce),
  CHECK ((decision IS NULL) = (decided_at IS NULL)),
  CHECK ((hash IS NULL) = (recipient IS NULL) AND (hash IS NULL) = (data IS NULL) AND (hash IS NULL) = (value IS NULL))
);
CREATE INDEX unknown_transactions_open ON unknown_transactions (chain, sender) WHERE decided_at IS NULL;

-- What was asked for and is not signed, because one of the above may have been just that.
CREATE TABLE held_key_transactions (
  id           uuid PRIMARY KEY,
  unknown_id   bigint NOT NULL REFERENCES unknown_transactions (id),
  chain        text NOT NULL,
  sender       text NOT NULL,
  provider_ref text NOT NULL,
  recipient    text NOT NULL,
  data         bytea NOT NULL,
  value        numeric NOT NULL,
  held_at      timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX held_key_transactions_by_unknown ON held_key_transactions (unknown_id);
