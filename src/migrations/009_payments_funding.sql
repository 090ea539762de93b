-- Funding links: adding money to an account, by card or from a wallet.

-- The deposit on the chain decides; a row here records who asked for how much, and which deposit completed it.
CREATE TABLE funding_links (
  -- Compared byte by byte, so that ids sort by time: the oldest link is completed first.
  id           text COLLATE "C" PRIMARY KEY,
  account_id   bigint NOT NULL REFERENCES accounts (id),
  chain        text NOT NULL,
  asset        text NOT NULL,
  atomic       numeric NOT NULL CHECK (atomic > 0),
  -- The token opens the page. Only its hash is stored.
  token_hash   bytea NOT NULL CONSTRAINT funding_links_token_key UNIQUE CHECK (length(token_hash) = 32),
  created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires_at   timestamptz NOT NULL CHECK (expires_at > created_at),
  -- Arrivals seen at the last check and not yet credited, sufficient or not.
  arriving     jsonb NOT NULL DEFAULT '[]',
  -- The arrival that is going to complete the link, and whether it is final. While there is one, the link does not
  -- expire; a reorg that removes it clears this.
  seen_tx      text,
  seen_final   boolean NOT NULL DEFAULT false CHECK (seen_tx IS NOT NULL OR NOT seen_final),
  -- The deposit that completed it, in the commit that credited it.
  deposit_id   text CONSTRAINT funding_links_deposit_key UNIQUE REFERENCES deposits (id),
  completed_at timestamptz,
  CHECK ((deposit_id IS NULL) = (completed_at IS NULL)),
  CHECK (completed_at IS NULL OR seen_tx IS NULL)
);

CREATE INDEX funding_links_by_account ON funding_links (account_id, id DESC);
CREATE INDEX funding_links_open ON funding_links (expires_at, account_id) WHERE completed_at IS NULL;
CREATE INDEX funding_links_seen ON funding_links (account_id) WHERE completed_at IS NULL AND seen_tx IS NOT NULL;

-- The request never changes, and a completed link stays completed.
CREATE FUNCTION guard_funding_link() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (OLD.id, OLD.account_id, OLD.chain, OLD.asset, OLD.atomic, OLD.token_hash, OLD.created_at, OLD.expires_at)
    IS DISTINCT FROM
     (NEW.id, NEW.account_id, NEW.chain, NEW.asset, NEW.atomic, NEW.token_hash, NEW.created_at, NEW.expires_at)
  THEN
    RAISE EXCEPTION 'funding link % cannot become another one', OLD.id USING ERRCODE = 'check_violation';
  END IF;
  IF OLD.completed_at IS NOT NULL THEN
    RAISE EXCEPTION 'funding link % is completed', OLD.id USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER funding_links_guard BEFORE UPDATE ON funding_links FOR EACH ROW EXECUTE FUNCTION guard_funding_link();

-- When a chain may be checked next for arrivals: one row for all instances.
CREATE TABLE funding_looks (
  chain   text PRIMARY KEY,
  next_at timestamptz NOT NULL
);

-- What card companies report about card payments. It changes what the page shows, never a balance.
CREATE TABLE funding_card_payments (
  provider   text NOT NULL,
  -- The card company's id.
  payment_id text NOT NULL CHECK (length(payment_id) <= 200),
  link_id    text COLLATE "C" NOT NULL REFERENCES funding_links (id),
  state      text NOT NULL CHECK (state IN ('pending', 'sent', 'failed')),
  -- Why it failed, for the person who pays.
  reason     text,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (provider, payment_id)
);
CREATE INDEX funding_card_payments_by_link ON funding_card_payments (link_id);
