-- One asset for another on the home chain, at what the market there pays.

CREATE TABLE swaps (
  id             text PRIMARY KEY,
  account_id     bigint NOT NULL REFERENCES accounts (id),
  -- What is sold, and what is bought.
  asset          text NOT NULL,
  to_asset       text NOT NULL,
  -- What has left the balance, and what of it is the fee; the rest is swapped.
  amount         numeric NOT NULL CHECK (amount > 0),
  fee            numeric NOT NULL CHECK (fee >= 0 AND fee < amount),
  -- What is kept of the fee for gas if the market does not keep to its price after the swap was begun.
  gas_fee        numeric NOT NULL CHECK (gas_fee >= 0 AND gas_fee <= fee),
  -- What the pools may use of gas when it is swapped.
  pool_gas       bigint NOT NULL CHECK (pool_gas >= 0),
  -- The price was looked at just before it was begun. Of one that failed: the gas was kept.
  gas_due        boolean NOT NULL DEFAULT false,
  -- What the market said when it was accepted, and the least that it may pay.
  quoted         numeric NOT NULL CHECK (quoted > 0),
  amount_out_min numeric NOT NULL CHECK (amount_out_min > 0 AND amount_out_min <= quoted),
  -- From then on it can be swapped no more, by the chain's clock too: in seconds since the epoch.
  deadline       bigint NOT NULL,
  -- The house wallet that swaps.
  swapper_id     text NOT NULL REFERENCES house_wallets (id),
  status         text NOT NULL,
  -- How it is swapped is decided once, when it is about to be: the pools, and the treasury that is paid. What is not swapped
  -- goes back there.
  path           text CHECK (path ~ '^0x[0-9a-f]+$'),
  recipient      text CHECK (recipient ~ '^0x[0-9a-f]{40}$'),
  -- What the chain has paid out, and what of the rest it has not taken.
  amount_out     numeric CHECK (amount_out >= amount_out_min),
  unspent        numeric NOT NULL DEFAULT 0 CHECK (unspent >= 0 AND unspent < amount - fee),
  -- Why it failed, in words for its owner.
  error          text,
  status_since   timestamptz NOT NULL DEFAULT clock_timestamp(),
  waits_for      text,
  created_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  finished_at    timestamptz,
  CHECK (asset <> to_asset),
  CHECK (amount_out IS NULL OR status = 'completed'),
  CHECK (path IS NULL OR recipient IS NOT NULL)
);
CREATE INDEX swaps_by_account ON swaps (account_id, id DESC);
CREATE INDEX swaps_open ON swaps (status_since) WHERE finished_at IS NULL;
CREATE TRIGGER swaps_guard BEFORE INSERT OR UPDATE ON swaps FOR EACH ROW EXECUTE FUNCTION guard_saga('swap');
