-- Swaps of one asset for another on the home chain, at its market price.

CREATE TABLE swaps (
  id             text PRIMARY KEY,
  account_id     bigint NOT NULL REFERENCES accounts (id),
  -- Sold and bought.
  asset          text NOT NULL,
  to_asset       text NOT NULL,
  -- What left the balance, including the fee; the rest is swapped.
  amount         numeric NOT NULL CHECK (amount > 0),
  fee            numeric NOT NULL CHECK (fee >= 0 AND fee < amount),
  -- The part of the fee that is kept for gas if the price moves too far after the swap has begun.
  gas_fee        numeric NOT NULL CHECK (gas_fee >= 0 AND gas_fee <= fee),
  -- The most gas that the pools may use.
  pool_gas       bigint NOT NULL CHECK (pool_gas >= 0),
  -- The price was checked just before the swap began. Of a failed swap: the gas was kept.
  gas_due        boolean NOT NULL DEFAULT false,
  -- The market's quote at acceptance, and the least that it may pay.
  quoted         numeric NOT NULL CHECK (quoted > 0),
  amount_out_min numeric NOT NULL CHECK (amount_out_min > 0 AND amount_out_min <= quoted),
  -- In seconds since the epoch: the swap cannot execute later, by the chain's clock either.
  deadline       bigint NOT NULL,
  -- The house wallet that swaps.
  swapper_id     text NOT NULL REFERENCES house_wallets (id),
  status         text NOT NULL,
  -- Decided once, just before the swap: the pools, and the treasury that receives the output and any unspent input.
  path           text CHECK (path ~ '^0x[0-9a-f]+$'),
  recipient      text CHECK (recipient ~ '^0x[0-9a-f]{40}$'),
  -- What the chain paid, and the input that it did not take.
  amount_out     numeric CHECK (amount_out >= amount_out_min),
  unspent        numeric NOT NULL DEFAULT 0 CHECK (unspent >= 0 AND unspent < amount - fee),
  -- Why it failed, for its owner.
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
