-- The owner's sessions on the pages.
-- serves_from: 16

-- Only the keyed hash of a session's token is stored; the token is in the browser's cookie. Rows go a month after the sign-in.
CREATE TABLE owner_sessions (
  -- Compared byte by byte, so that ids sort by time.
  id           text COLLATE "C" PRIMARY KEY,
  account_id   bigint NOT NULL REFERENCES accounts (id),
  token_hash   bytea NOT NULL CONSTRAINT owner_sessions_token_key UNIQUE,
  -- Of the sign-in. The browser names itself.
  address      text NOT NULL,
  browser      text,
  created_at   timestamptz NOT NULL DEFAULT now(),
  -- Written once a minute and not at every page.
  seen_at      timestamptz NOT NULL DEFAULT now(),
  ended_at     timestamptz
);
-- A new password ends the sessions, and closing the account, which takes the password, deletes them. Here, because instances of an
-- earlier release do both without knowing sessions.
CREATE FUNCTION end_owner_sessions() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
  IF NEW.closed_at IS NOT NULL THEN
    DELETE FROM public.owner_sessions WHERE account_id = NEW.id;
  ELSE
    UPDATE public.owner_sessions SET ended_at = clock_timestamp() WHERE account_id = NEW.id AND ended_at IS NULL;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER accounts_end_sessions AFTER UPDATE OF password_hash ON accounts FOR EACH ROW
  WHEN (NEW.password_hash <> OLD.password_hash) EXECUTE FUNCTION end_owner_sessions();
CREATE INDEX owner_sessions_by_account ON owner_sessions (account_id, id DESC);
