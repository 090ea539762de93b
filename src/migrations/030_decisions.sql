-- Decision records: what the policies of a key said about a payment, chained per account, signed and anchored.
-- serves_from: 16

-- A record waits here from the commit of its payment until it is chained, which is soon. `body` is what was decided, and `remaining` what
-- the posting left of each budget that it took from (ledger.spendings). No foreign keys: the commits of payments write it, and must not
-- lock more rows for it.
CREATE TABLE decisions_waiting (
  -- A UUIDv7, so that ids sort by time.
  id         uuid PRIMARY KEY,
  account_id bigint NOT NULL,
  key_id     text NOT NULL,
  at         timestamptz NOT NULL,
  posting_id uuid,
  remaining  numeric[],
  body       json NOT NULL
);

-- `record` is the canonical text that is hashed, and `head` the hash of the account's chain up to it:
-- SHA-256(0x03 || head before || SHA-256(0x02 || record)). The chain begins with 32 bytes of zero. Without foreign keys, so that chaining
-- does not lock the accounts that are paying; accounts and keys are never deleted.
CREATE TABLE policy_decisions (
  account_id bigint NOT NULL,
  seq        bigint NOT NULL CHECK (seq > 0),
  id         uuid NOT NULL,
  key_id     text NOT NULL,
  outcome    text NOT NULL CHECK (outcome IN ('allow', 'deny', 'ask')),
  at         timestamptz NOT NULL,
  record     text NOT NULL,
  head       bytea NOT NULL CHECK (octet_length(head) = 32),
  PRIMARY KEY (account_id, seq)
);
CREATE UNIQUE INDEX policy_decisions_by_id ON policy_decisions (account_id, id);
CREATE INDEX policy_decisions_by_key ON policy_decisions (key_id, id);
-- Those of which a page is asked alone are few among many.
CREATE INDEX policy_decisions_refused ON policy_decisions (account_id, id) WHERE outcome <> 'allow';

-- Where the chain of each account stands. The place is that of its leaf in every tree, and never changes. `sealed_seq` is how far
-- signed roots go.
CREATE TABLE decision_heads (
  account_id bigint PRIMARY KEY,
  place      bigint NOT NULL CONSTRAINT decision_heads_place_key UNIQUE CHECK (place >= 0),
  -- The salts of its leaves derive from it, so that a leaf says nothing to others.
  salt       bytea NOT NULL CHECK (octet_length(salt) = 32),
  seq        bigint NOT NULL,
  head       bytea NOT NULL CHECK (octet_length(head) = 32),
  sealed_seq bigint NOT NULL DEFAULT 0 CHECK (sealed_seq BETWEEN 0 AND seq)
);

-- The keys that sign roots. The one that signs now has no `retired_at`.
CREATE TABLE decision_keys (
  id         text PRIMARY KEY,
  public_key bytea NOT NULL CHECK (octet_length(public_key) = 32),
  sealed     bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  retired_at timestamptz
);
CREATE UNIQUE INDEX decision_keys_in_use ON decision_keys ((true)) WHERE retired_at IS NULL;

-- The root of a tree over the heads of all accounts. `signed` is the canonical text that is signed.
CREATE TABLE decision_roots (
  number        bigint PRIMARY KEY CHECK (number > 0),
  root          bytea NOT NULL CHECK (octet_length(root) = 32),
  reserves_root bytea CHECK (octet_length(reserves_root) = 32),
  key_id        text NOT NULL REFERENCES decision_keys (id),
  signed        text NOT NULL,
  signature     bytea NOT NULL CHECK (octet_length(signature) = 64),
  created_at    timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- The leaf of each account whose chain had grown, and the hashes from there to the root.
CREATE TABLE decision_seals (
  account_id bigint NOT NULL,
  seq        bigint NOT NULL,
  root       bigint NOT NULL REFERENCES decision_roots (number),
  place      bigint NOT NULL,
  salt       bytea NOT NULL CHECK (octet_length(salt) = 32),
  path       bytea NOT NULL CHECK (octet_length(path) % 32 = 0),
  PRIMARY KEY (account_id, seq),
  FOREIGN KEY (account_id, seq) REFERENCES policy_decisions (account_id, seq)
);

-- A transaction that carries a root to a chain.
CREATE TABLE decision_anchors (
  id           text PRIMARY KEY,
  root         bigint NOT NULL REFERENCES decision_roots (number),
  chain        text NOT NULL,
  wallet_id    text NOT NULL REFERENCES house_wallets (id),
  -- The decisions root and the reserves root.
  data         bytea NOT NULL CHECK (octet_length(data) = 64),
  tx_hash      text,
  block_number bigint,
  status       text NOT NULL,
  status_since timestamptz NOT NULL DEFAULT clock_timestamp(),
  waits_for    text,
  created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
  finished_at  timestamptz,
  CHECK ((tx_hash IS NULL) = (block_number IS NULL))
);
-- One at a time, so that a chain that stands still costs one transaction.
CREATE UNIQUE INDEX decision_anchors_open ON decision_anchors ((true)) WHERE finished_at IS NULL;
CREATE UNIQUE INDEX decision_anchors_by_root ON decision_anchors (root) WHERE tx_hash IS NOT NULL;
CREATE TRIGGER decision_anchors_guard BEFORE INSERT OR UPDATE ON decision_anchors
  FOR EACH ROW EXECUTE FUNCTION guard_saga('decision_anchor');

-- Nothing is changed, and what waits leaves only for the chain.
CREATE FUNCTION refuse_change_of_decisions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'decision records are never changed or removed' USING ERRCODE = 'check_violation';
END $$;
CREATE FUNCTION guard_waiting_decisions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM gone g WHERE NOT EXISTS (
    SELECT FROM public.policy_decisions d WHERE d.account_id = g.account_id AND d.id = g.id))
  THEN
    RAISE EXCEPTION 'decision records are never removed before they are chained' USING ERRCODE = 'check_violation';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER decisions_waiting_leave AFTER DELETE ON decisions_waiting
  REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION guard_waiting_decisions();
CREATE TRIGGER decisions_waiting_stay BEFORE UPDATE OR TRUNCATE ON decisions_waiting
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_decisions();
CREATE TRIGGER policy_decisions_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON policy_decisions
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_decisions();
CREATE TRIGGER decision_roots_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON decision_roots
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_decisions();
CREATE TRIGGER decision_seals_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON decision_seals
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_decisions();

-- A record is refused unless it is the next of its account and its hash is right.
CREATE FUNCTION guard_decision_chain() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  wrong record;
BEGIN
  SELECT a.account_id, a.seq INTO wrong
    FROM added a LEFT JOIN public.policy_decisions b ON b.account_id = a.account_id AND b.seq = a.seq - 1
   WHERE (b.seq IS NULL AND a.seq > 1)
      OR a.head <> sha256('\x03'::bytea || coalesce(b.head, decode(repeat('00', 32), 'hex'))
           || sha256('\x02'::bytea || convert_to(a.record, 'UTF8')))
   LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'record % of account % does not continue its chain', wrong.seq, wrong.account_id USING ERRCODE = 'check_violation';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER policy_decisions_chain AFTER INSERT ON policy_decisions
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION guard_decision_chain();

-- As the events of postings: the process that posts batches notifies afterwards.
CREATE TRIGGER decisions_waiting_wake AFTER INSERT ON decisions_waiting
  FOR EACH STATEMENT WHEN (current_setting('application_name') <> 'paywright-batches') EXECUTE FUNCTION wake_loops('decisions');

-- Posts a batch as ledger.post does, and records the decision about each posting that was posted and has one. `decision_places` are the
-- positions of their postings, counted from one, and `decision_bodies` what was decided, a line of JSON each. A batch whose postings give
-- something back has no decisions: what remains of a budget would be wrong.
CREATE FUNCTION ledger.post_decided(
  touched bigint[], unseen bigint[],
  ids uuid[], types text[], key_ids text[], senders bigint[], recipients bigint[],
  assets bigint[], amounts numeric[], fees numeric[], descriptions text[], refs text[], details jsonb[],
  sender_events text[], recipient_events text[],
  keys uuid[], request_digests uuid[],
  payers integer[], payees integer[], fees_to integer[],
  entry_postings integer[], entry_places integer[], entry_amounts numeric[],
  stamps bigint[], budgets bigint[], spend_postings integer[], spend_places integer[], spend_amounts numeric[],
  spent_on text[], returns_of text[], return_parts numeric[], return_wholes numeric[],
  decision_places integer[], decision_ids uuid[], decision_bodies text,
  OUT outcomes text, OUT first_at timestamptz, OUT earlier jsonb
) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
  -- Of each posting: what remains of the budgets that it took from, an array as text.
  remaining text[];
  item record;
BEGIN
  SELECT p.outcomes, p.first_at, p.earlier INTO outcomes, first_at, earlier
    FROM ledger.post(touched, unseen, ids, types, key_ids, senders, recipients, assets, amounts, fees, descriptions, refs, details,
      sender_events, recipient_events, keys, request_digests, payers, payees, fees_to, entry_postings, entry_places, entry_amounts,
      stamps, budgets, spend_postings, spend_places, spend_amounts, spent_on, returns_of, return_parts, return_wholes) p;
  IF position('P' IN outcomes) = 0 THEN RETURN; END IF;

  -- We hold the budgets' rows, which now show what was spent after the whole batch: what later postings took was there before.
  IF budgets IS NOT NULL THEN
    FOR item IN
      SELECT s.posting, array_agg(b.most - b.spent + s.later ORDER BY s.n)::text AS left_over
        FROM (SELECT t.posting, t.n, t.place, coalesce(sum(t.amount) OVER (PARTITION BY t.place ORDER BY t.posting
                ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING), 0) AS later
                FROM unnest(spend_postings, spend_places, spend_amounts) WITH ORDINALITY t (posting, place, amount, n)
               WHERE substr(outcomes, t.posting, 1) = 'P') s
        JOIN ledger.budgets b ON b.id = budgets[s.place]
       GROUP BY s.posting
    LOOP
      remaining[item.posting] := item.left_over;
    END LOOP;
  END IF;
  INSERT INTO public.decisions_waiting (id, account_id, key_id, at, posting_id, remaining, body)
    SELECT d.id, senders[d.place], key_ids[d.place], first_at + (d.place - 1) * interval '1 microsecond', ids[d.place],
           remaining[d.place]::numeric[], d.body::json
      FROM unnest(decision_places, decision_ids, string_to_array(decision_bodies, E'\n')) d (place, id, body)
     WHERE substr(outcomes, d.place, 1) = 'P';
END $$;
