-- How every saga runs, and which secrets encrypted this database. The first sixteen files are the schema of the first
-- release, one per room, in the order of their references. Later changes come in files of their own: migrations only go
-- forward, and a released file never changes.

-- What a release declares about its sagas: the states with their successors, and the columns that never change.
-- src/kernel/sagas/define-saga.ts writes it; the guard below reads it.
CREATE TABLE sagas (
  name   text PRIMARY KEY,
  states jsonb NOT NULL,
  fixed  text[] NOT NULL
);

-- On every saga's table, with the saga's name. The request never changes, a finished row stays finished, and only
-- declared transitions are allowed. Without a declaration every change is refused.
CREATE FUNCTION guard_saga() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  saga CONSTANT text := TG_ARGV[0];
  declared sagas%ROWTYPE;
  before jsonb;
  after jsonb;
BEGIN
  SELECT * INTO declared FROM sagas WHERE name = saga;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'no release has declared what a % may do', saga USING ERRCODE = 'check_violation';
  END IF;
  IF NOT declared.states ? NEW.status THEN
    RAISE EXCEPTION 'a % cannot be %', saga, NEW.status USING ERRCODE = 'check_violation';
  END IF;
  IF TG_OP = 'UPDATE' AND NEW.id <> OLD.id THEN
    RAISE EXCEPTION '% % cannot become another one', saga, OLD.id USING ERRCODE = 'check_violation';
  END IF;
  IF (NEW.finished_at IS NOT NULL) <> (declared.states -> NEW.status = '[]') THEN
    RAISE EXCEPTION '% % is %, and finished at %', saga, NEW.id, NEW.status, NEW.finished_at
      USING ERRCODE = 'check_violation';
  END IF;
  IF TG_OP = 'INSERT' THEN RETURN NEW; END IF;

  before := to_jsonb(OLD);
  after := to_jsonb(NEW);
  IF EXISTS (SELECT FROM unnest(declared.fixed) f (name) WHERE before -> f.name IS DISTINCT FROM after -> f.name) THEN
    RAISE EXCEPTION '% % cannot become another one', saga, OLD.id USING ERRCODE = 'check_violation';
  END IF;
  IF OLD.finished_at IS NOT NULL
    OR (NEW.status <> OLD.status AND NOT coalesce(declared.states -> OLD.status, '[]') ? NEW.status)
  THEN
    RAISE EXCEPTION '% % cannot go from % to %', saga, OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
  END IF;
  IF NEW.status <> OLD.status THEN
    NEW.status_since := clock_timestamp();
    NEW.waits_for := NULL;
  END IF;
  RETURN NEW;
END $$;

-- The secrets that ever encrypted this database, by fingerprint. One is in use; the others were replaced.
CREATE TABLE operator_secrets (
  fingerprint      bytea PRIMARY KEY CHECK (octet_length(fingerprint) = 16),
  first_used_at    timestamptz NOT NULL DEFAULT now(),
  -- From here on another secret encrypts, and this one is no longer accepted.
  retired_at       timestamptz,
  -- From here on nothing is left that only this secret decrypts.
  resealed_at      timestamptz,
  -- The old secret's hash keys, encrypted with the current one: they recognize API keys hashed back then, and decrypt
  -- nothing.
  sealed_hash_keys bytea,
  CHECK ((retired_at IS NULL) = (sealed_hash_keys IS NULL)),
  CHECK (resealed_at IS NULL OR retired_at IS NOT NULL)
);
CREATE UNIQUE INDEX operator_secrets_in_use ON operator_secrets ((true)) WHERE retired_at IS NULL;
