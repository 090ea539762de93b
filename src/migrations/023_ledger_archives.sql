-- Months of the ledger that were archived to a file and dropped (src/ledger/archive/).
-- serves_from: 16

CREATE TABLE ledger.archives (
  name        text PRIMARY KEY,
  from_at     timestamptz NOT NULL UNIQUE,
  to_at       timestamptz NOT NULL UNIQUE CHECK (to_at > from_at),
  postings    bigint NOT NULL,
  entries     bigint NOT NULL,
  -- The SHA-256 of the file, in hex.
  digest      text NOT NULL CHECK (digest ~ '^[0-9a-f]{64}$'),
  archived_at timestamptz NOT NULL DEFAULT now()
);

-- Where each account stood at the end of the last archived month, and the time of its last archived entry. An account
-- without a row had no entry until then.
CREATE TABLE ledger.archived_balances (
  account_id bigint PRIMARY KEY,
  balance    numeric NOT NULL,
  posted_at  timestamptz NOT NULL
);

CREATE TRIGGER archives_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger.archives
  FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER archived_balances_stay BEFORE DELETE OR TRUNCATE ON ledger.archived_balances
  FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
ALTER TABLE ledger.archives ENABLE ALWAYS TRIGGER archives_append_only;
ALTER TABLE ledger.archived_balances ENABLE ALWAYS TRIGGER archived_balances_stay;

-- Everything before this moment is archived. Months are archived oldest first, so this is one moment for all accounts.
CREATE FUNCTION ledger.archived_until() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE
  RETURN (SELECT coalesce(max(to_at), '-infinity') FROM ledger.archives);

-- The first posting, for answering a duplicate. Its batch was posted at `since`, and each of a batch is a microsecond later
-- than the one before. A posting that is archived has nothing but its place and id: without them, `||` in ledger.post
-- would lose the descriptions of the other duplicates of the batch.
CREATE OR REPLACE FUNCTION ledger.describe(place integer, posting uuid, since timestamptz) RETURNS jsonb LANGUAGE sql STABLE
AS $$
  SELECT coalesce(
    (SELECT jsonb_build_object('place', place, 'id', p.id, 'postedAt', p.posted_at, 'type', p.type,
         'senderId', p.sender_id::text, 'recipientId', p.recipient_id::text, 'asset', p.asset,
         'amount', p.amount::text, 'fee', p.fee::text, 'description', p.description, 'reference', p.reference,
         'details', p.details)
       FROM ledger.postings p
      WHERE p.id = posting AND p.posted_at >= since AND p.posted_at < since + interval '1 second'),
    jsonb_build_object('place', place, 'id', posting, 'isGone', true));
$$;
