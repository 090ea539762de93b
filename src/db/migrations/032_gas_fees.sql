-- What the network gas of both ends costs its owner, in the asset that is carried. It left the balance beside the amount and
-- comes back with it; the house earns it with the burn.
ALTER TABLE bridges ADD COLUMN gas_fee numeric NOT NULL DEFAULT 0 CHECK (gas_fee >= 0);
