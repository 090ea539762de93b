-- Who did what sensitive thing, and when. It only grows: nothing in it is ever changed or taken away.
-- serves_from: 23
CREATE TABLE audit_log (
  -- Compared byte by byte, so that the order of ids is the order of time.
  id         text COLLATE "C" PRIMARY KEY,
  -- Whose account it is about. Null when it is about the service itself.
  account_id bigint REFERENCES accounts (id),
  action     text NOT NULL CHECK (action ~ '^[a-z_]+\.[a-z_]+$'),
  -- Who did it: the API key that called, or the operator who gave a command. Neither: somebody without a key, or the service itself.
  key_id     text REFERENCES api_keys (id),
  operator   text CHECK (operator <> ''),
  -- Where the request came from.
  address    text,
  -- Small and flat, and never a secret. Its owner sees it.
  details    jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(details) = 'object' AND octet_length(details::text) <= 4096),
  -- For the operator alone.
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
