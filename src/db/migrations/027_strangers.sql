-- Ways back to an account, and what keeps strangers from using them up.
-- serves_from: 23

-- Null once somebody else has proved that the mailbox is theirs. A release before this one answers GET /account of such an account
-- with 500; it can do everything else.
ALTER TABLE accounts ALTER COLUMN email DROP NOT NULL;

-- What goes to a mailbox that no account has proved belongs to nobody yet, and is shown to nobody.
ALTER TABLE messages ALTER COLUMN account_id DROP NOT NULL;

-- The one token by which the password of an account may be set anew. Only its keyed hash is kept, and a new one takes its place.
CREATE TABLE password_resets (
  account_id bigint PRIMARY KEY REFERENCES accounts (id),
  -- `reset` sets the password of the account; `claim` takes its unproved email to a new account.
  kind       text NOT NULL CHECK (kind IN ('reset', 'claim')),
  token_hash bytea NOT NULL CONSTRAINT password_resets_token_key UNIQUE,
  expires_at timestamptz NOT NULL,
  -- How many were made since `counted_from`, for mailboxes are not to be flooded.
  made       integer NOT NULL CHECK (made > 0),
  counted_from timestamptz NOT NULL,
  created_at timestamptz NOT NULL
);

-- How many messages went out on a day (UTC): from an address network, to a number or mailbox, to a country, in all.
CREATE TABLE message_counts (
  day   date NOT NULL,
  scope text NOT NULL,
  count integer NOT NULL CHECK (count > 0),
  PRIMARY KEY (day, scope)
);
