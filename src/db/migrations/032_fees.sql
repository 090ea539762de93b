-- What the network gas of both ends costs its owner, in the asset that is carried. It left the balance beside the amount and
-- comes back with it; the house earns it with the burn.
ALTER TABLE bridges ADD COLUMN gas_fee numeric NOT NULL DEFAULT 0 CHECK (gas_fee >= 0);

-- What a payment to a seller costs beside its amount, once an account has paid more within a day than calls cost.
ALTER TABLE purchases ADD COLUMN fee numeric NOT NULL DEFAULT 0 CHECK (fee >= 0);
