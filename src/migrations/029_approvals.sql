-- Payments that wait for their owner's decision.
-- serves_from: 16

-- What is asked, and the request that runs again once it is approved, are sealed: they name people and addresses. The request is kept
-- while it is pending, and after it was executed, when money was paid for it.
CREATE TABLE approvals (
  -- Compared byte by byte, so that ids sort by time.
  id          text COLLATE "C" PRIMARY KEY,
  account_id  bigint NOT NULL REFERENCES accounts (id),
  key_id      text NOT NULL REFERENCES api_keys (id),
  -- Of the key. A rotation keeps it.
  place       text NOT NULL,
  -- Of the operation as it was resolved. The same operation asked again while it is pending is the same approval.
  digest      bytea NOT NULL,
  -- Of everything that the owner is shown. It changes when the facts do.
  shown       bytea NOT NULL,
  sealed      bytea NOT NULL,
  sealed_request bytea,
  status      text NOT NULL DEFAULT 'pending'
              CHECK (status IN ('pending', 'executed', 'denied', 'expired', 'cancelled', 'failed')),
  created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires_at  timestamptz NOT NULL,
  decided_at  timestamptz,
  -- Of the owner who decided on the website.
  session_id  text,
  -- The code and the words of the error, where it failed.
  reason      jsonb,
  -- What it gave beyond a budget, in the atomic units of the budget: [{key, id, asset, amount}].
  granted     jsonb,
  CONSTRAINT approvals_request CHECK ((sealed_request IS NULL) = (status NOT IN ('pending', 'executed'))),
  CONSTRAINT approvals_decided CHECK ((status = 'pending') = (decided_at IS NULL)),
  CONSTRAINT approvals_by_owner CHECK (status NOT IN ('executed', 'denied') OR session_id IS NOT NULL)
);
CREATE UNIQUE INDEX approvals_pending ON approvals (place, digest) WHERE status = 'pending';
CREATE INDEX approvals_by_account ON approvals (account_id, id DESC);
CREATE INDEX approvals_old ON approvals (created_at);

-- A decision is final.
CREATE FUNCTION refuse_decided_approval() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'approval % is %, and a decision is final', OLD.id, OLD.status;
END $$;
CREATE TRIGGER approvals_are_final BEFORE UPDATE ON approvals FOR EACH ROW
  WHEN (OLD.status <> 'pending' AND (NEW.status, NEW.digest, NEW.shown, NEW.granted) IS DISTINCT FROM (OLD.status, OLD.digest, OLD.shown, OLD.granted))
  EXECUTE FUNCTION refuse_decided_approval();
