-- Brakes on money that leaves: limits, an allow-list of addresses, and a withdrawal that its owner cancels.
-- serves_from: 23

ALTER TABLE withdrawals
  -- What it was worth when it was asked for, in millionths of a USDC. Null in rows of releases that did not know of limits.
  ADD COLUMN value numeric CHECK (value >= 0),
  -- What holds it, where that is known. Nothing while it is not held.
  ADD COLUMN held_by text CHECK (held_by IN ('screening', 'freeze', 'hourly_limit')),
  -- When it was let go towards its address, and so counts among what leaves in an hour. Nothing while it is held.
  ADD COLUMN let_go_at timestamptz,
  -- When the operator let it go beyond the hourly limit: that holds it no more. The screening is asked all the same.
  ADD COLUMN limit_waived_at timestamptz;

-- What has left within an hour is at the end of this index, however much has ever left.
CREATE INDEX withdrawals_let_go ON withdrawals (let_go_at) WHERE let_go_at IS NOT NULL;
-- What an account has sent within a day, and what all have paid to sellers within an hour.
CREATE INDEX withdrawals_by_day ON withdrawals (account_id, created_at);
CREATE INDEX purchases_by_day ON purchases (account_id, created_at);
CREATE INDEX purchases_by_time ON purchases (created_at);

-- Addresses that an account allows, each only from some time after it was added.
CREATE TABLE withdrawal_addresses (
  account_id  bigint NOT NULL REFERENCES accounts (id),
  -- In lower case.
  address     text NOT NULL CHECK (address ~ '^0x[0-9a-f]{40}$'),
  added_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
  usable_from timestamptz NOT NULL,
  PRIMARY KEY (account_id, address),
  CHECK (usable_from >= added_at)
);

-- Accounts that send to those addresses alone. It is on while it is not off yet.
CREATE TABLE withdrawal_allow_lists (
  account_id bigint PRIMARY KEY REFERENCES accounts (id),
  on_since   timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- From then on it is off, unless its owner calls that back.
  off_from   timestamptz
);
