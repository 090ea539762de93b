-- The second factor of an owner, and when the owner of a session last proved to be there.
-- serves_from: 16

-- Set at the sign-in and whenever the password or a passkey is used again. Null in sessions of an earlier release.
ALTER TABLE owner_sessions ADD COLUMN proved_at timestamptz;

-- Codes of an authenticator app (RFC 6238).
CREATE TABLE totp_secrets (
  account_id bigint PRIMARY KEY REFERENCES accounts (id),
  sealed     bytea NOT NULL,
  -- Null until a first code was right. Only then it is a second factor.
  active_at  timestamptz,
  -- The 30 seconds, counted from the epoch, of the last accepted code. A code is accepted once, so this only grows.
  last_step  bigint NOT NULL DEFAULT 0
);

-- Each replaces a lost factor once: its row goes when it is used. Only the keyed hash is stored.
CREATE TABLE recovery_codes (
  account_id bigint NOT NULL REFERENCES accounts (id),
  code_hash  bytea NOT NULL,
  PRIMARY KEY (account_id, code_hash)
);

CREATE TABLE passkeys (
  -- Compared byte by byte, so that ids sort by time.
  id            text COLLATE "C" PRIMARY KEY,
  account_id    bigint NOT NULL REFERENCES accounts (id),
  -- As the authenticator names it, in base64url.
  credential_id text NOT NULL CONSTRAINT passkeys_credential_key UNIQUE,
  public_key    bytea NOT NULL,
  -- How often it was used, as it counts itself; many always say 0.
  counter       bigint NOT NULL CHECK (counter >= 0),
  transports    text[] NOT NULL,
  name          text NOT NULL,
  created_at    timestamptz NOT NULL DEFAULT now(),
  last_used_at  timestamptz
);
CREATE INDEX passkeys_by_account ON passkeys (account_id, id);

-- Challenges that a passkey has answered. They are valid for five minutes, so older rows are forgotten.
CREATE TABLE spent_challenges (
  challenge bytea PRIMARY KEY,
  spent_at  timestamptz NOT NULL DEFAULT now()
);

-- The same as in 027, and the second factor goes with a closed account. A new password leaves it in place.
CREATE OR REPLACE FUNCTION end_owner_sessions() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
  IF NEW.closed_at IS NOT NULL THEN
    DELETE FROM public.owner_sessions WHERE account_id = NEW.id;
    DELETE FROM public.totp_secrets WHERE account_id = NEW.id;
    DELETE FROM public.recovery_codes WHERE account_id = NEW.id;
    DELETE FROM public.passkeys WHERE account_id = NEW.id;
  ELSE
    UPDATE public.owner_sessions SET ended_at = clock_timestamp() WHERE account_id = NEW.id AND ended_at IS NULL;
  END IF;
  RETURN NULL;
END $$;
