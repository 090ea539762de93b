-- Accounts whose events are kept in order, for clients that read them instead of being called.
-- serves_from: 16

-- The webhooks feature maintains it. A feed is open while this row exists.
CREATE TABLE ledger.event_feeds (
  account_id bigint PRIMARY KEY REFERENCES accounts (id),
  -- What is recorded: all events of the release that opened it.
  types      text[] NOT NULL,
  -- Where a new reader begins: the cursor before the first event.
  beginning  uuid NOT NULL,
  -- The place of the newest event.
  newest     bigint NOT NULL DEFAULT 0,
  read_at    timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);
CREATE INDEX event_feeds_by_age ON ledger.event_feeds USING brin (read_at) WITH (autosummarize = on);

-- `place` counts from 1 without gaps, in the order of the commits that publish: one transaction publishes at a time.
CREATE TABLE feed_events (
  account_id bigint NOT NULL,
  place      bigint NOT NULL,
  event_id   uuid NOT NULL,
  -- The same text as the body of a delivery.
  body       text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, place),
  UNIQUE (account_id, event_id)
);
CREATE INDEX feed_events_by_age ON feed_events USING brin (created_at) WITH (autosummarize = on);

-- As in 020, but without `feeds` it leaves events of accounts with a feed waiting for the one transaction that may publish them.
CREATE FUNCTION ledger.take_events(most integer, since uuid, assets bigint[], feeds boolean)
RETURNS TABLE (id uuid, account_id bigint, type text, created_at timestamptz, data jsonb, posting jsonb) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
    WITH taken AS (
      DELETE FROM ledger.events d WHERE d.id = ANY (ARRAY(
        SELECT e.id FROM ledger.events e
         WHERE e.id >= since AND (e.posting_id IS NULL OR EXISTS (
           SELECT FROM ledger.postings p
            WHERE p.id = e.posting_id AND p.posted_at = e.created_at AND p.asset = ANY (assets)))
           AND (feeds OR NOT EXISTS (SELECT FROM ledger.event_feeds f WHERE f.account_id = e.account_id))
         ORDER BY e.id LIMIT most FOR UPDATE OF e SKIP LOCKED))
      RETURNING d.*)
    SELECT t.id, t.account_id, t.type, t.created_at, t.data,
           CASE WHEN t.posting_id IS NOT NULL THEN ledger.describe(0, t.posting_id, t.created_at) END
      FROM taken t ORDER BY t.id;
END $$;

-- Earlier releases call this one. They know no feeds, so they leave those events to this release.
CREATE OR REPLACE FUNCTION ledger.take_events(most integer, since uuid, assets bigint[])
RETURNS TABLE (id uuid, account_id bigint, type text, created_at timestamptz, data jsonb, posting jsonb) LANGUAGE sql
AS $$ SELECT * FROM ledger.take_events(most, since, assets, false) $$;
