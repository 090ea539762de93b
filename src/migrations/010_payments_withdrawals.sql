-- Withdrawals, and the allow-lists that limit them.

CREATE TABLE withdrawals (
  id              text PRIMARY KEY,
  -- Null when the operator pays out earned fees.
  account_id      bigint REFERENCES accounts (id),
  chain           text NOT NULL,
  asset           text NOT NULL,
  address         text NOT NULL CHECK (address ~ '^0x[0-9a-fA-F]{40}$'),
  gross           numeric NOT NULL CHECK (gross > 0),
  fee             numeric NOT NULL CHECK (fee >= 0),
  net             numeric NOT NULL CHECK (net > 0),
  -- The value at the time of the request, in millionths of a USDC. The operator's payouts count towards no limit and
  -- may have none.
  value           numeric CHECK (value >= 0),
  status          text NOT NULL,
  -- Why it is held or failed, for the user.
  error           text,
  -- What holds it, if known. Null while it is not held.
  held_by         text CHECK (held_by IN ('screening', 'freeze', 'hourly_limit')),
  -- Why it is held, for the operator only.
  held_because    text,
  -- When the operator released it nevertheless; the screening is not asked again.
  released_at     timestamptz,
  -- When the operator released it beyond the hourly limit. The screening is still asked.
  limit_waived_at timestamptz,
  -- When it was released to its address, and so counts towards the hourly limit. Null while it is held.
  let_go_at       timestamptz,
  status_since    timestamptz NOT NULL DEFAULT clock_timestamp(),
  waits_for       text,
  created_at      timestamptz NOT NULL DEFAULT now(),
  updated_at      timestamptz NOT NULL DEFAULT now(),
  finished_at     timestamptz,
  CHECK (gross = fee + net),
  CHECK (account_id IS NULL OR value IS NOT NULL)
);
CREATE INDEX withdrawals_by_account ON withdrawals (account_id, id DESC);
CREATE INDEX withdrawals_open ON withdrawals (chain, asset) WHERE finished_at IS NULL;
-- The last hour is at the end of this index, however much has ever left.
CREATE INDEX withdrawals_let_go ON withdrawals (let_go_at) WHERE let_go_at IS NOT NULL;
-- For an account's daily limit.
CREATE INDEX withdrawals_by_day ON withdrawals (account_id, created_at);
-- Contracts that refused native coin after it was unwrapped for them.
CREATE INDEX withdrawals_returned ON withdrawals (chain, address) WHERE status IN ('wrapping', 'failed');
CREATE TRIGGER withdrawals_guard BEFORE INSERT OR UPDATE ON withdrawals
  FOR EACH ROW EXECUTE FUNCTION guard_saga('withdrawal');

-- An account's allowed addresses, each usable some time after it was added.
CREATE TABLE withdrawal_addresses (
  account_id  bigint NOT NULL REFERENCES accounts (id),
  -- In lower case.
  address     text NOT NULL CHECK (address ~ '^0x[0-9a-f]{40}$'),
  added_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
  usable_from timestamptz NOT NULL,
  PRIMARY KEY (account_id, address),
  CHECK (usable_from >= added_at)
);

-- Accounts that only send to their allowed addresses.
CREATE TABLE withdrawal_allow_lists (
  account_id bigint PRIMARY KEY REFERENCES accounts (id),
  on_since   timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The list is off from then on, unless its owner cancels that.
  off_from   timestamptz
);
