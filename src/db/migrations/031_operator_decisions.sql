-- What the operator decides about debts for deposits that were taken back, and about transactions that stay stuck.
-- serves_from: 27

-- How much of what is owed was collected or written off.
ALTER TABLE deposit_reversals
  ADD COLUMN settled numeric NOT NULL DEFAULT 0 CONSTRAINT deposit_reversals_settled_check CHECK (settled BETWEEN 0 AND owed);

-- Each time that the operator has settled a part of it. The ledger knows the posting by deposit and number.
CREATE TABLE reversal_settlements (
  deposit_id text NOT NULL REFERENCES deposits (id),
  number     integer NOT NULL CHECK (number > 0),
  kind       text NOT NULL CHECK (kind IN ('collected', 'written_off')),
  atomic     numeric NOT NULL CHECK (atomic > 0),
  settled_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (deposit_id, number)
);

-- How often the fee of one stuck transaction may be raised, where that is more than usual. By the name that its provider gave it.
CREATE TABLE raised_fee_limits (
  provider_ref text PRIMARY KEY,
  most         integer NOT NULL CHECK (most BETWEEN 21 AND 100),
  raised_at    timestamptz NOT NULL DEFAULT clock_timestamp()
);
