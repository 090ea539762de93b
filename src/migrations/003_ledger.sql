-- The double-entry ledger: who owns what. Only src/ledger writes here, and only through ledger.post.

CREATE SCHEMA ledger;

-- Parties that we owe something and know by name only, such as a shop's domain or a payer's address. Each has a number
-- like an account's, from a separate range, so that the ledger guards its balance like any other.
CREATE TABLE claimants (
  -- From 2 ^ 38 up to the largest owner that fits into a ledger account's number.
  id          bigint GENERATED ALWAYS AS IDENTITY (START WITH 274877906944 MINVALUE 274877906944 MAXVALUE 549755813887)
               PRIMARY KEY CHECK (id BETWEEN 274877906944 AND 549755813887),
  kind        text NOT NULL CHECK (kind ~ '^[a-z][a-z_]*$'),
  -- As the feature that found the party spells it. Two spellings are two parties.
  name        text NOT NULL CHECK (name <> '' AND length(name) <= 255),
  -- The account that proved to be this party. No other account can be, from then on.
  account_id  bigint REFERENCES accounts (id),
  opened_at   timestamptz NOT NULL DEFAULT now(),
  redeemed_at timestamptz,
  CONSTRAINT claimants_name_key UNIQUE (kind, name),
  CHECK ((account_id IS NULL) = (redeemed_at IS NULL))
);
CREATE INDEX claimants_by_account ON claimants (account_id) WHERE account_id IS NOT NULL;

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

-- The number of an account contains its owner and what it holds, so that neither a posting nor a check has to look it up:
--   owner << 14 | kind << 8 | chain << 4 | asset        (owner 0 is the house)
-- src/ledger/account-id.ts builds the same number. The rows of assets and chains come from the code: `migrate` adds missing
-- ones, and refuses a release that has another meaning for an existing one (src/kernel/db/fixed-rows.ts).
CREATE TABLE ledger.assets (
  code     bigint PRIMARY KEY CHECK (code BETWEEN 0 AND 15),
  symbol   text NOT NULL UNIQUE,
  decimals integer NOT NULL
);

CREATE TABLE ledger.chains (
  code bigint PRIMARY KEY CHECK (code BETWEEN 0 AND 15),
  id   text NOT NULL UNIQUE
);

-- Kinds up to 15 belong to users, 16 to 31 to the house, and neither may become negative. From 32 on, accounts mirror
-- the outside world: what we hold is negative there, as what we owe is positive elsewhere.
CREATE TABLE ledger.kinds (
  code      bigint PRIMARY KEY CHECK (code BETWEEN 0 AND 63),
  name      text NOT NULL UNIQUE,
  -- How the reserves count a kind. It derives from code and name, so that a release which does not know a kind counts
  -- it like the release that added it.
  counts_as text NOT NULL GENERATED ALWAYS AS (CASE
    WHEN code < 16 THEN 'users'
    WHEN name = 'custody' THEN 'custody'
    -- Taken from its owner and not yet gone, and what is expected to arrive for it, which is negative.
    WHEN name LIKE '%\_in\_transit' OR name = 'receivables' THEN 'in_flight'
    ELSE 'house' END) STORED
);
INSERT INTO ledger.kinds (code, name) VALUES
  (0, 'available'),
  -- A user's own, but reserved for an order.
  (1, 'held'),
  -- A claimant's.
  (2, 'due'),
  (16, 'fees'), (17, 'surplus'), (18, 'merchants'),
  (19, 'withdrawals_in_transit'), (20, 'bridges_in_transit'), (21, 'swaps_in_transit'), (22, 'orders_in_transit'),
  (23, 'nano_in_transit'),
  -- Served, but not yet earned, because its payment has not arrived.
  (24, 'calls_in_transit'),
  (32, 'custody'), (33, 'gas'), (34, 'receivables'), (35, 'equity'),
  -- Our native coin, as a negative balance, separate from wrapped coins in custody. It pays for gas and is the
  -- operator's, never a user's.
  (36, 'gas_tank'),
  -- Native coin unwrapped for a withdrawal or a swap, in a house wallet meanwhile.
  (37, 'unwrapped_in_transit'),
  -- The operator's native coin in users' wallets.
  (38, 'gas_lent'),
  -- Reversed deposits that their owners had already spent, and now owe to the house.
  (39, 'reversals_in_transit');

CREATE FUNCTION ledger.owner_of(account_id bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN nullif(account_id >> 14, 0);
CREATE FUNCTION ledger.kind_of(account_id bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN (account_id >> 8) & 63;
CREATE FUNCTION ledger.chain_of(account_id bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN (account_id >> 4) & 15;
CREATE FUNCTION ledger.asset_of(account_id bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN account_id & 15;

-- Half of every page stays free, so that updates of a balance stay on the page and need no index update (HOT).
CREATE TABLE ledger.accounts (
  id          bigint PRIMARY KEY,
  owner_id    bigint REFERENCES accounts (id),
  claimant_id bigint REFERENCES claimants (id),
  -- In atomic units. A bigint would end at 9.2 tokens of 18 decimals.
  balance     numeric NOT NULL DEFAULT 0,
  -- The time of the newest entry. The next one is later, whatever the clock says.
  posted_at   timestamptz NOT NULL DEFAULT '-infinity',
  -- Spelled out, because a function would be expanded anew in every statement.
  CONSTRAINT accounts_balance_not_negative CHECK (balance >= 0 OR (id >> 8) & 63 >= 32)
) WITH (fillfactor = 50);

-- One movement of money. What people are shown is stored here; its effect on balances is in its entries. This table and
-- the entries are append-only. Each of their unique keys contains a column that rises with time, so that an operator
-- can partition them by range: postings by `id` (a version 7 UUID), entries by `posted_at`. Add no other unique key.
CREATE TABLE ledger.postings (
  id           uuid PRIMARY KEY,
  posted_at    timestamptz NOT NULL,
  type         text NOT NULL,
  sender_id    bigint,
  recipient_id bigint,
  asset        bigint NOT NULL,
  amount       numeric NOT NULL,
  fee          numeric NOT NULL,
  description  text,
  -- What this posting answers to outside the ledger, such as deposit:<chain>:<transaction>:<log index>.
  -- ledger.posting_references finds a posting by it and keeps it unique.
  reference    text,
  -- Whatever else a feature needs to give the same answer again.
  details      jsonb
);

-- Keeps references unique across all partitions of the postings. Only postings with a reference write here; a transfer
-- has none.
CREATE TABLE ledger.posting_references (
  reference  text PRIMARY KEY,
  posting_id uuid NOT NULL
);

-- Along one account the times rise strictly, so the key is also the order of its history. There are no foreign keys,
-- because checking them row by row halves the speed; verifyLedger in src/ledger proves the same.
CREATE TABLE ledger.entries (
  account_id    bigint NOT NULL,
  posted_at     timestamptz NOT NULL,
  posting_id    uuid NOT NULL,
  amount        numeric NOT NULL,
  balance_after numeric NOT NULL,
  PRIMARY KEY (account_id, posted_at)
);

-- Every Idempotency-Key of an account, for all routes: a key that paid for a transfer is not free for a withdrawal. A
-- row is the first success under a key: a posting (which is its own answer), the stored answer of another request, or
-- neither, when the request knows by other means what it has done. A refusal leaves no row. Keys come from callers and
-- are spread over the whole index, so it is kept small: the first half of a SHA-256 of account and key, and of the
-- request. src/ledger/encode-batch.ts makes the digests.
CREATE TABLE ledger.idempotency_keys (
  digest         uuid PRIMARY KEY,
  request_digest uuid NOT NULL,
  posting_id     uuid,
  posted_at      timestamptz NOT NULL,
  status         smallint,
  answer         jsonb
);
-- Rows are in order of time, so a few bytes per block find the old ones.
CREATE INDEX idempotency_keys_by_age ON ledger.idempotency_keys USING brin (posted_at) WITH (autosummarize = on);

-- Which events each account subscribed to. The webhooks feature maintains it.
CREATE TABLE ledger.event_subscriptions (
  account_id bigint NOT NULL REFERENCES accounts (id),
  type       text NOT NULL,
  PRIMARY KEY (account_id, type)
);

-- An event waits here from the commit that caused it until it has become deliveries. One that no posting caused, such
-- as a new invoice, brings its own data.
CREATE TABLE ledger.events (
  id         uuid PRIMARY KEY,
  account_id bigint NOT NULL,
  type       text NOT NULL,
  posting_id uuid,
  data       jsonb,
  created_at timestamptz NOT NULL,
  CONSTRAINT events_tell_something CHECK (posting_id IS NOT NULL OR data IS NOT NULL)
);

-- The owner is derived from the number. (Generated columns would be parsed anew for every updated row.)
CREATE FUNCTION ledger.open_account() RETURNS trigger LANGUAGE plpgsql AS $$
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

CREATE TRIGGER accounts_open BEFORE INSERT ON ledger.accounts
  FOR EACH ROW EXECUTE FUNCTION ledger.open_account();

-- An asset on one chain cannot pay for the same asset on another, so a bridge posts on both chains. (account_id & 255
-- is chain and asset.)
CREATE FUNCTION ledger.refuse_unbalanced() RETURNS trigger LANGUAGE plpgsql AS $$
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

CREATE TRIGGER entries_balance AFTER INSERT ON ledger.entries REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_unbalanced();

CREATE FUNCTION ledger.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% on ledger.%: what was posted stays as it is', TG_OP, TG_TABLE_NAME
    USING ERRCODE = 'restrict_violation', HINT = 'Post the opposite instead.';
END $$;

CREATE TRIGGER entries_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger.entries
  FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER postings_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger.postings
  FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER posting_references_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger.posting_references
  FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER accounts_stay BEFORE UPDATE OF id, owner_id, claimant_id OR DELETE OR TRUNCATE ON ledger.accounts
  FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
-- Also for a session that has disabled ordinary triggers.
ALTER TABLE ledger.entries ENABLE ALWAYS TRIGGER entries_balance;
ALTER TABLE ledger.entries ENABLE ALWAYS TRIGGER entries_append_only;
ALTER TABLE ledger.postings ENABLE ALWAYS TRIGGER postings_append_only;
ALTER TABLE ledger.posting_references ENABLE ALWAYS TRIGGER posting_references_append_only;
ALTER TABLE ledger.accounts ENABLE ALWAYS TRIGGER accounts_stay;

-- A version 7 UUID. PostgreSQL has its own only from release 18 on.
CREATE FUNCTION ledger.new_id(at timestamptz) RETURNS uuid LANGUAGE sql VOLATILE RETURN
  encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
    PLACING substring(int8send(floor(extract(epoch FROM at) * 1000)::bigint) FROM 3) FROM 1 FOR 6), 52, 1), 53, 1),
    'hex')::uuid;

-- The first posting, for answering a duplicate. The body is text, so that it reads the table by name even after a
-- partitioned one has replaced it.
CREATE FUNCTION ledger.describe(place integer, posting uuid) RETURNS jsonb LANGUAGE sql STABLE AS $$
  SELECT jsonb_build_object('place', place, 'id', p.id, 'postedAt', p.posted_at, 'type', p.type,
      'senderId', p.sender_id::text, 'recipientId', p.recipient_id::text, 'asset', p.asset,
      'amount', p.amount::text, 'fee', p.fee::text, 'description', p.description, 'reference', p.reference,
      'details', p.details)
    FROM ledger.postings p WHERE p.id = posting;
$$;

-- Locks everything of an owner until the transaction ends: no posting of theirs is in progress, and none can start.
-- Revoking a key and freezing an account begin with it. The owner's own row keeps new accounts from being opened.
CREATE FUNCTION ledger.lock_owner(owner bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM public.accounts WHERE id = owner FOR UPDATE;
  PERFORM FROM ledger.accounts WHERE id >= owner << 14 AND id < (owner + 1) << 14 ORDER BY id DESC FOR NO KEY UPDATE;
END $$;

-- Posts a batch: every posting is checked in order, against the balances that the ones before it have left, and gets one
-- letter in `outcomes`:
--   P posted   I insufficient balance   U unknown account   F frozen account   K key revoked or expired   D duplicate   M mismatch
-- `first_at` + n microseconds is the time of the n-th posting, counted from zero. `earlier` describes the first posting of
-- each duplicate.
--
-- A payment made with a key to a closed account is refused like one to an unknown account. A deposit or the refund of an
-- order is credited, because the money belongs to the account. A key's expiry for lack of use is not checked here: posting
-- with a key uses it.
--
-- Locks are taken in a fixed order, so that batches of several instances and features' own transactions never deadlock: new
-- accounts ascending (which locks the owner's row, as ledger.lock_owner does), then accounts descending (the house's busy
-- ones come last and are held shortest), then references ascending, then idempotency keys ascending.
--
-- `touched` contains every account once, descending, and an entry names its account by its position there; `unseen` contains
-- those that may not exist yet. Entries are grouped by posting, counted from one. An array of nulls may be null itself.
CREATE FUNCTION ledger.post(
  touched bigint[], unseen bigint[],
  ids uuid[], types text[], key_ids text[], senders bigint[], recipients bigint[],
  assets bigint[], amounts numeric[], fees numeric[], descriptions text[], refs text[], details jsonb[],
  sender_events text[], recipient_events text[],
  keys uuid[], request_digests uuid[],
  entry_postings integer[], entry_places integer[], entry_amounts numeric[],
  OUT outcomes text, OUT first_at timestamptz, OUT earlier jsonb
) LANGUAGE plpgsql
-- The right plan is always the same, whatever autovacuum last saw of the tables: look each row up by its key.
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
  step CONSTANT interval := '1 microsecond';
  n CONSTANT integer := cardinality(ids);
  found_ids bigint[];
  found_rows tid[];
  found_balances numeric[];
  rows tid[];
  balances numeric[];
  moved boolean[];
  last_at timestamptz;
  frozen bigint[];
  closed bigint[];
  some_frozen boolean;
  revoked text[];
  some_revoked boolean;
  repeated bigint[];
  anyone_listens boolean;
  verdicts text[] := array_fill(NULL::text, ARRAY[n]);
  verdict text;
  afters numeric[] := array_fill(NULL::numeric, ARRAY[cardinality(entry_postings)]);
  after numeric;
  place integer;
  entry integer := 1;
  first_entry integer;
  posted integer := 0;
  updated integer;
  item record;
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'a posting must see what was committed before it got its locks: use READ COMMITTED';
  END IF;

  IF unseen IS NOT NULL THEN
    INSERT INTO ledger.accounts (id)
      SELECT u.id FROM unnest(unseen) u (id)
       WHERE (ledger.owner_of(u.id) IS NULL
              OR EXISTS (SELECT FROM public.accounts o WHERE o.id = ledger.owner_of(u.id)))
         AND NOT EXISTS (SELECT FROM ledger.accounts a WHERE a.id = u.id)
       ORDER BY u.id
      ON CONFLICT DO NOTHING;
  END IF;

  SELECT array_agg(l.balance), array_agg(l.ctid), max(l.posted_at) INTO balances, rows, last_at
    FROM (SELECT a.ctid, a.balance, a.posted_at FROM ledger.accounts a
           WHERE a.id = ANY (touched) ORDER BY a.id DESC FOR NO KEY UPDATE) l;
  IF cardinality(rows) IS DISTINCT FROM cardinality(touched) THEN
    found_ids := ARRAY(SELECT a.id FROM ledger.accounts a WHERE a.ctid = ANY (rows) ORDER BY a.id DESC);
    found_rows := rows;
    found_balances := balances;
    rows := array_fill(NULL::tid, ARRAY[cardinality(touched)]);
    balances := array_fill(NULL::numeric, ARRAY[cardinality(touched)]);
    place := 1;
    FOR i IN 1 .. cardinality(touched) LOOP
      IF found_ids[place] = touched[i] THEN
        rows[i] := found_rows[place];
        balances[i] := found_balances[place];
        place := place + 1;
      END IF;
    END LOOP;
  END IF;

  -- From here on no key is revoked and nobody is frozen among those we hold: whoever does that locks the accounts first.
  -- OFFSET 0 keeps the planner from turning a look-up round and reading everything there is.
  SELECT ARRAY(SELECT k.id FROM public.api_keys k
                WHERE (k.revoked_at IS NOT NULL OR k.expires_at IS NOT NULL) AND k.id = ANY (key_ids)
                  AND (k.revoked_at IS NOT NULL OR k.expires_at <= clock_timestamp())),
         ARRAY(SELECT o.id FROM public.accounts o WHERE o.frozen_at IS NOT NULL AND o.id = ANY (
           ARRAY(SELECT ledger.owner_of(t.id) FROM unnest(touched) t (id)))),
         ARRAY(SELECT o.id FROM public.accounts o WHERE o.closed_at IS NOT NULL AND o.id = ANY (recipients)),
         ARRAY(SELECT q.place FROM unnest(keys) WITH ORDINALITY q (digest, place)
                CROSS JOIN LATERAL (SELECT FROM ledger.idempotency_keys i WHERE i.digest = q.digest OFFSET 0) i),
         EXISTS (SELECT FROM ledger.event_subscriptions)
    INTO revoked, frozen, closed, repeated, anyone_listens;
  some_revoked := cardinality(revoked) > 0;
  some_frozen := cardinality(frozen) > 0;

  FOREACH place IN ARRAY repeated LOOP
    SELECT k.posting_id, k.request_digest INTO item FROM ledger.idempotency_keys k WHERE k.digest = keys[place];
    IF item.request_digest = request_digests[place] THEN
      verdicts[place] := 'D';
      earlier := coalesce(earlier, '[]') || ledger.describe(place, item.posting_id);
    ELSE
      verdicts[place] := 'M';
    END IF;
  END LOOP;
  IF refs IS NOT NULL THEN
    FOR item IN
      SELECT q.place, r.posting_id FROM unnest(refs) WITH ORDINALITY q (ref, place)
       CROSS JOIN LATERAL (SELECT e.posting_id FROM ledger.posting_references e WHERE e.reference = q.ref OFFSET 0) r
    LOOP
      CONTINUE WHEN verdicts[item.place] IS NOT NULL;
      verdicts[item.place] := 'D';
      earlier := coalesce(earlier, '[]') || ledger.describe(item.place::integer, item.posting_id);
    END LOOP;
  END IF;

  FOR i IN 1 .. n LOOP
    verdict := verdicts[i];
    IF some_revoked AND key_ids[i] = ANY (revoked) THEN verdict := 'K'; END IF;
    IF verdict IS NULL AND key_ids[i] IS NOT NULL AND recipients[i] = ANY (closed) AND senders[i] IS DISTINCT FROM recipients[i]
      AND types[i] <> 'order_refund'
    THEN
      verdict := 'U';
    END IF;
    IF verdict IS NULL THEN
      verdict := 'P';
      first_entry := entry;
      WHILE entry_postings[entry] = i LOOP
        place := entry_places[entry];
        after := balances[place] + entry_amounts[entry];
        IF after IS NULL THEN
          verdict := 'U';
        ELSIF entry_amounts[entry] < 0 THEN
          IF some_frozen AND ledger.owner_of(touched[place]) = ANY (frozen) THEN
            IF verdict <> 'U' THEN verdict := 'F'; END IF;
          ELSIF after < 0 AND verdict = 'P' AND ledger.kind_of(touched[place]) < 32 THEN
            verdict := 'I';
          END IF;
        END IF;
        balances[place] := after;
        afters[entry] := after;
        entry := entry + 1;
      END LOOP;
      IF verdict = 'P' THEN
        posted := posted + 1;
      ELSE
        FOR undone IN first_entry .. entry - 1 LOOP
          place := entry_places[undone];
          balances[place] := balances[place] - entry_amounts[undone];
          afters[undone] := NULL;
        END LOOP;
      END IF;
    ELSE
      WHILE entry_postings[entry] = i LOOP entry := entry + 1; END LOOP;
    END IF;
    verdicts[i] := verdict;
  END LOOP;

  outcomes := array_to_string(verdicts, '');
  first_at := greatest(clock_timestamp(), last_at + step);
  IF posted = 0 THEN RETURN; END IF;
  IF posted < n THEN
    moved := array_fill(false, ARRAY[cardinality(touched)]);
    FOR i IN 1 .. cardinality(entry_places) LOOP
      IF afters[i] IS NOT NULL THEN moved[entry_places[i]] := true; END IF;
    END LOOP;
  END IF;

  -- Whoever comes second with a reference waits here for the first, and is then refused by the key.
  IF refs IS NOT NULL THEN
    INSERT INTO ledger.posting_references (reference, posting_id)
      SELECT r.ref, r.id FROM unnest(refs, ids, verdicts) r (ref, id, verdict)
       WHERE r.ref IS NOT NULL AND r.verdict = 'P'
       ORDER BY r.ref;
  END IF;

  INSERT INTO ledger.postings (id, posted_at, type, sender_id, recipient_id, asset, amount, fee, description, reference,
      details)
    SELECT p.id, first_at + (p.n - 1) * step, p.type, p.sender, p.recipient, p.asset, p.amount, p.fee, p.description,
        p.ref, p.details
      FROM unnest(ids, types, senders, recipients, assets, amounts, fees, descriptions, refs, details, verdicts)
        WITH ORDINALITY p (id, type, sender, recipient, asset, amount, fee, description, ref, details, verdict, n)
     WHERE p.verdict = 'P';

  INSERT INTO ledger.entries (account_id, posted_at, posting_id, amount, balance_after)
    SELECT touched[e.place], first_at + (e.posting - 1) * step, ids[e.posting], e.amount, e.after
      FROM unnest(entry_postings, entry_places, entry_amounts, afters) e (posting, place, amount, after)
     WHERE e.after IS NOT NULL;

  -- We hold these rows, so they are still where we found them.
  UPDATE ledger.accounts a SET balance = b.balance, posted_at = first_at + n * step
    FROM unnest(rows, balances, moved) b (row, balance, moved) WHERE a.ctid = b.row AND b.moved IS NOT FALSE;
  GET DIAGNOSTICS updated = ROW_COUNT;
  IF updated <> coalesce(cardinality(array_positions(moved, true)), cardinality(touched)) THEN
    RAISE EXCEPTION 'only % of the accounts were written', updated;
  END IF;

  IF keys IS NOT NULL THEN
    INSERT INTO ledger.idempotency_keys (digest, request_digest, posting_id, posted_at)
      SELECT k.digest, k.request_digest, k.id, first_at
        FROM unnest(keys, request_digests, ids, verdicts) k (digest, request_digest, id, verdict)
       WHERE k.digest IS NOT NULL AND k.verdict = 'P'
       ORDER BY k.digest;
  END IF;

  IF anyone_listens THEN
    INSERT INTO ledger.events (id, account_id, type, posting_id, created_at)
      SELECT ledger.new_id(first_at), e.owner, e.type, p.id, first_at + (p.n - 1) * step
        FROM unnest(ids, senders, recipients, sender_events, recipient_events, verdicts)
          WITH ORDINALITY p (id, sender, recipient, sender_event, recipient_event, verdict, n)
       CROSS JOIN LATERAL (VALUES (p.sender, p.sender_event), (p.recipient, p.recipient_event)) e (owner, type)
       WHERE p.verdict = 'P'
         AND EXISTS (SELECT FROM ledger.event_subscriptions s WHERE s.account_id = e.owner AND s.type = e.type);
  END IF;
END $$;
