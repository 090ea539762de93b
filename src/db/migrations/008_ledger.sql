-- The ledger, ready for those who hold, bridge and owe: every chain balances by itself, users have a second kind of account,
-- and something can be owed to a party that has no account here yet.

-- An asset on one chain is not the same asset on another: neither can pay for the other. A bridge therefore says on both
-- chains what happened there. (account_id & 255 is chain and asset.)
CREATE OR REPLACE FUNCTION ledger.refuse_unbalanced() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  unbalanced record;
BEGIN
  SELECT posting_id, account_id & 255 AS pair, sum(amount) AS excess INTO unbalanced
    FROM added GROUP BY 1, 2 HAVING sum(amount) <> 0 LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'posting % is not balanced: its entries in asset % on chain % sum to %', unbalanced.posting_id,
      ledger.asset_of(unbalanced.pair), ledger.chain_of(unbalanced.pair), unbalanced.excess USING ERRCODE = 'check_violation';
  END IF;
  RETURN NULL;
END $$;

INSERT INTO ledger.kinds VALUES
  -- A user's, but not to be spent: an order may take it.
  (1, 'held'),
  -- Of a claimant, and of nobody else.
  (2, 'due');

-- What a balance of each kind is to the reserves. It follows from code and name, so that a release which does not know a kind
-- counts it as the one does that brought it.
ALTER TABLE ledger.kinds ADD COLUMN counts_as text NOT NULL GENERATED ALWAYS AS (CASE
  WHEN code < 16 THEN 'users'
  WHEN name = 'custody' THEN 'custody'
  -- Taken from somebody and not yet gone; and what will arrive for it, which stands below zero.
  WHEN name LIKE '%\_in\_transit' OR name = 'receivables' THEN 'in_flight'
  ELSE 'house' END) STORED;

-- Parties that we know only by a name of theirs, such as a shop's domain or the address of a payer, and owe something. Each
-- has a number like an account's, from a range of its own, so that the ledger guards what is owed to it like any balance.
CREATE TABLE claimants (
  -- From 2 ^ 38 up to what the number of a ledger account has room for.
  id           bigint GENERATED ALWAYS AS IDENTITY (START WITH 274877906944 MINVALUE 274877906944 MAXVALUE 549755813887)
               PRIMARY KEY CHECK (id BETWEEN 274877906944 AND 549755813887),
  kind         text NOT NULL CHECK (kind ~ '^[a-z][a-z_]*$'),
  -- As the feature spells it that found the party. Two spellings are two parties.
  name         text NOT NULL CHECK (name <> '' AND length(name) <= 255),
  -- The account that proved to be this party. From then on nobody else can be.
  account_id   bigint REFERENCES accounts (id),
  opened_at    timestamptz NOT NULL DEFAULT now(),
  redeemed_at  timestamptz,
  CONSTRAINT claimants_name_key UNIQUE (kind, name),
  CHECK ((account_id IS NULL) = (redeemed_at IS NULL))
);
CREATE INDEX claimants_by_account ON claimants (account_id) WHERE account_id IS NOT NULL;
-- The numbers of accounts end where those of claimants begin.
ALTER TABLE accounts ALTER COLUMN id SET MAXVALUE 274877906943;

CREATE FUNCTION guard_claimant() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (OLD.id, OLD.kind, OLD.name, OLD.opened_at) IS DISTINCT FROM (NEW.id, NEW.kind, NEW.name, NEW.opened_at)
    OR (OLD.account_id IS NOT NULL AND NEW.account_id IS DISTINCT FROM OLD.account_id)
  THEN
    RAISE EXCEPTION 'claimant % cannot become another one', OLD.id USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER claimants_guard BEFORE UPDATE ON claimants FOR EACH ROW EXECUTE FUNCTION guard_claimant();

ALTER TABLE ledger.accounts ADD COLUMN claimant_id bigint REFERENCES claimants (id);

CREATE OR REPLACE FUNCTION ledger.open_account() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  owner CONSTANT bigint := ledger.owner_of(NEW.id);
  is_claimant CONSTANT boolean := coalesce(owner >= 274877906944, false);
BEGIN
  NEW.owner_id := CASE WHEN is_claimant THEN NULL ELSE owner END;
  NEW.claimant_id := CASE WHEN is_claimant THEN owner END;
  IF NEW.balance <> 0
    OR (owner IS NULL) <> (ledger.kind_of(NEW.id) >= 16)
    OR is_claimant <> (ledger.kind_of(NEW.id) = 2)
    OR NOT EXISTS (SELECT FROM ledger.kinds WHERE code = ledger.kind_of(NEW.id))
    OR NOT EXISTS (SELECT FROM ledger.chains WHERE code = ledger.chain_of(NEW.id))
    OR NOT EXISTS (SELECT FROM ledger.assets WHERE code = ledger.asset_of(NEW.id))
  THEN
    RAISE EXCEPTION 'ledger account % cannot be: no such kind, chain or asset, or it is not empty', NEW.id
      USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $$;

DROP TRIGGER accounts_stay ON ledger.accounts;
CREATE TRIGGER accounts_stay BEFORE UPDATE OF id, owner_id, claimant_id OR DELETE OR TRUNCATE ON ledger.accounts
  FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
ALTER TABLE ledger.accounts ENABLE ALWAYS TRIGGER accounts_stay;

-- What was deposited to each wallet and no sweep carries yet, so that the wallets worth sweeping are found by an index.
CREATE TABLE unswept_wallets (
  chain   text NOT NULL,
  asset   text NOT NULL,
  address text NOT NULL,
  atomic  numeric NOT NULL CHECK (atomic > 0),
  PRIMARY KEY (chain, asset, address)
);
CREATE INDEX unswept_wallets_by_amount ON unswept_wallets (chain, asset, atomic DESC, address);

-- Wallets of which that has to be counted again. Whoever writes deposits only adds here, and so never waits for anybody; the
-- sweep that is about to choose takes them away and counts.
CREATE TABLE unswept_changes (
  id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  chain   text NOT NULL,
  asset   text NOT NULL,
  address text NOT NULL
);
CREATE INDEX unswept_changes_by_asset ON unswept_changes (chain, asset);

CREATE FUNCTION note_unswept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO unswept_changes (chain, asset, address)
    SELECT DISTINCT chain, asset, address FROM changed WHERE account_id IS NOT NULL;
  RETURN NULL;
END $$;

CREATE TRIGGER deposits_note_new AFTER INSERT ON deposits REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION note_unswept();
CREATE TRIGGER deposits_note_changed AFTER UPDATE ON deposits REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION note_unswept();

INSERT INTO unswept_wallets (chain, asset, address, atomic)
  SELECT chain, asset, address, sum(atomic) FROM deposits
   WHERE swept_at IS NULL AND sweep_id IS NULL AND account_id IS NOT NULL GROUP BY 1, 2, 3;
