-- People and agents, their API keys, the messages we send them, and the audit log.

CREATE TABLE accounts (
  -- Account numbers end where those of claimants begin.
  id                 bigint GENERATED ALWAYS AS IDENTITY (MAXVALUE 274877906943) PRIMARY KEY,
  handle             text NOT NULL CONSTRAINT accounts_handle_key UNIQUE CHECK (handle ~ '^PA-[A-Z0-9]{8}$'),
  -- In lower case: two spellings of one address are one account. Null once another account has proved that it owns the
  -- mailbox, and once this one is closed.
  email              text CONSTRAINT accounts_email_key UNIQUE CHECK (email = lower(email)),
  email_verified_at  timestamptz,
  name               text NOT NULL CHECK (name <> ''),
  password_hash      text NOT NULL,
  -- Set only after its owner has proved it, so that claiming a number does not reserve it.
  phone              text CONSTRAINT accounts_phone_key UNIQUE CHECK (phone ~ '^\+[1-9][0-9]{4,14}$'),
  tier               text NOT NULL DEFAULT 'free' CHECK (tier IN ('free', 'pro', 'enterprise')),
  frozen_at          timestamptz,
  withdrawal_address text CHECK (withdrawal_address ~ '^0x[0-9a-fA-F]{40}$'),
  shipping_address   text CHECK (shipping_address <> ''),
  created_at         timestamptz NOT NULL DEFAULT now(),
  -- Closed by its owner. The ledger stays under the handle; personal data is erased.
  closed_at          timestamptz,
  CONSTRAINT accounts_closed_check CHECK (closed_at IS NULL OR (
    email IS NULL AND email_verified_at IS NULL AND phone IS NULL AND withdrawal_address IS NULL
    AND shipping_address IS NULL AND password_hash = ''))
);
-- These contain only the exceptions, so that a posting checks a tiny index.
CREATE INDEX accounts_frozen ON accounts (id) WHERE frozen_at IS NOT NULL;
CREATE INDEX accounts_closed ON accounts (id) WHERE closed_at IS NOT NULL;

-- Only the keyed hash of a key is stored. A revoked key stays, for its history.
CREATE TABLE api_keys (
  id             text PRIMARY KEY,
  account_id     bigint NOT NULL REFERENCES accounts (id),
  key_hash       bytea NOT NULL CONSTRAINT api_keys_hash_key UNIQUE,
  -- Chosen by its creator. Null once its account is closed.
  name           text CHECK (name <> ''),
  last4          text NOT NULL CHECK (length(last4) = 4),
  scopes         text[] NOT NULL DEFAULT '{read,pay,withdraw,manage}' CHECK (cardinality(scopes) > 0),
  expires_at     timestamptz,
  -- Written now and then, not at every use.
  last_used_at   timestamptz,
  last_used_from text,
  -- The key that replaces this one. The old key keeps working until its expires_at, which the rotation sets.
  rotated_to     text REFERENCES api_keys (id) CHECK (rotated_to <> id),
  created_at     timestamptz NOT NULL DEFAULT now(),
  revoked_at     timestamptz
);
CREATE INDEX api_keys_by_account ON api_keys (account_id);
CREATE INDEX api_keys_ending ON api_keys (id) WHERE revoked_at IS NOT NULL OR expires_at IS NOT NULL;

-- One code per account and kind. A new code replaces the old one.
CREATE TABLE verification_codes (
  account_id    bigint NOT NULL REFERENCES accounts (id),
  kind          text NOT NULL CHECK (kind IN ('email', 'phone')),
  target        text NOT NULL,
  code_hash     bytea NOT NULL,
  attempts_left smallint NOT NULL CHECK (attempts_left >= 0),
  expires_at    timestamptz NOT NULL,
  PRIMARY KEY (account_id, kind)
);

-- A requested change of email. It takes effect once the codes sent to both addresses came back.
CREATE TABLE email_changes (
  account_id        bigint PRIMARY KEY REFERENCES accounts (id),
  email             text NOT NULL CHECK (email = lower(email)),
  -- Keyed hashes of the codes sent to the new and the present address. The second is null if the present address is not
  -- verified: it may belong to someone else.
  code_hash         bytea NOT NULL,
  current_code_hash bytea,
  attempts_left     smallint NOT NULL CHECK (attempts_left >= 0),
  expires_at        timestamptz NOT NULL
);

-- One password reset token per account. Only its keyed hash is stored, and a new one replaces it.
CREATE TABLE password_resets (
  account_id   bigint PRIMARY KEY REFERENCES accounts (id),
  -- `reset` sets the account's password; `claim` takes its unverified email to a new account.
  kind         text NOT NULL CHECK (kind IN ('reset', 'claim')),
  token_hash   bytea NOT NULL CONSTRAINT password_resets_token_key UNIQUE,
  expires_at   timestamptz NOT NULL,
  -- How many were made since `counted_from`, so that a mailbox is not flooded.
  made         integer NOT NULL CHECK (made > 0),
  counted_from timestamptz NOT NULL,
  created_at   timestamptz NOT NULL
);

-- Outbox: written in the commit that causes the message, sent by a job. The text is encrypted, because it may contain a
-- code.
CREATE TABLE messages (
  id         text PRIMARY KEY,
  -- Null for a mailbox that no account has proved: such a message is shown to no account.
  account_id bigint REFERENCES accounts (id),
  channel    text NOT NULL CHECK (channel IN ('email', 'sms')),
  recipient  text NOT NULL,
  subject    text NOT NULL,
  sealed     bytea,
  sent_at    timestamptz,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX messages_by_account ON messages (account_id, id DESC);

-- Messages per day (UTC): from an address network, to a number or mailbox, to a country, and in all.
CREATE TABLE message_counts (
  day   date NOT NULL,
  scope text NOT NULL,
  count integer NOT NULL CHECK (count > 0),
  PRIMARY KEY (day, scope)
);

-- Who did which sensitive action, and when. Append-only.
CREATE TABLE audit_log (
  -- Compared byte by byte, so that ids sort by time.
  id         text COLLATE "C" PRIMARY KEY,
  -- Null when it concerns the service itself.
  account_id bigint REFERENCES accounts (id),
  action     text NOT NULL CHECK (action ~ '^[a-z_]+\.[a-z_]+$'),
  -- The API key or the operator that acted. Neither: a caller without a key, or the service itself.
  key_id     text REFERENCES api_keys (id),
  operator   text CHECK (operator <> ''),
  address    text,
  -- Small and flat, and never a secret. The account's owner sees it.
  details    jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(details) = 'object' AND octet_length(details::text) <= 4096),
  -- For the operator only.
  note       text,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX audit_log_by_account ON audit_log (account_id, id DESC) WHERE account_id IS NOT NULL;

CREATE FUNCTION guard_audit_log() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the audit log only grows' USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER audit_log_guard BEFORE UPDATE OR DELETE ON audit_log
  FOR EACH ROW EXECUTE FUNCTION guard_audit_log();
CREATE TRIGGER audit_log_guard_all BEFORE TRUNCATE ON audit_log
  FOR EACH STATEMENT EXECUTE FUNCTION guard_audit_log();
