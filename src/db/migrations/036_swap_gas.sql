-- What is kept of a swap's fee for gas if the market does not keep to its price after the swap was begun.
-- serves_from: 35
ALTER TABLE swaps
  ADD COLUMN gas_fee numeric NOT NULL DEFAULT 0 CHECK (gas_fee >= 0 AND gas_fee <= fee),
  -- What the pools may use of gas when it is swapped. Until now: whatever a quote allows.
  ADD COLUMN pool_gas bigint NOT NULL DEFAULT 1000000 CHECK (pool_gas >= 0),
  -- The price was looked at just before it was begun. Of one that failed: the gas was kept.
  ADD COLUMN gas_due boolean NOT NULL DEFAULT false;
