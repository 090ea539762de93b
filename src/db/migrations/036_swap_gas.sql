-- serves_from: 35
-- What is kept of a swap's fee for gas if the market does not keep to its price after the swap was begun, and whether it was.
ALTER TABLE swaps
  ADD COLUMN gas_fee numeric NOT NULL DEFAULT 0 CHECK (gas_fee >= 0 AND gas_fee <= fee),
  ADD COLUMN gas_kept boolean NOT NULL DEFAULT false;
ALTER TABLE swaps ADD CHECK (NOT gas_kept OR status IN ('returning', 'failed'));
