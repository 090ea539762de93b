-- Who is told of what, and what became of the telling.

CREATE TABLE webhooks (
  id            text COLLATE "C" PRIMARY KEY,
  account_id    bigint NOT NULL REFERENCES accounts (id),
  -- The key that made it.
  key_id        text NOT NULL REFERENCES api_keys (id),
  url           text NOT NULL,
  events        text[] NOT NULL CHECK (cardinality(events) > 0),
  -- Sealed with the operator's secret. Null when none was given, and once the webhook is deleted.
  sealed_secret bytea,
  -- Disabled by its receiver, who answered 410; deleted by its owner. Neither is ever undone.
  status        text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'disabled', 'deleted')),
  created_at    timestamptz NOT NULL DEFAULT now(),
  ended_at      timestamptz,
  CHECK ((status = 'active') = (ended_at IS NULL))
);
CREATE INDEX webhooks_by_account ON webhooks (account_id, id) WHERE status <> 'deleted';
CREATE INDEX webhooks_by_key ON webhooks (key_id) WHERE status <> 'deleted';
CREATE INDEX webhooks_deleted ON webhooks (ended_at) WHERE status = 'deleted';

-- One event on its way to one webhook. A process that tries one holds it under `claim_id` until `claimed_until`; whoever
-- comes later finds another claim there and writes nothing. The claim is in no index, so taking one moves no index entry.
-- There are no foreign keys: thousands of rows come and go a second, and each would be checked.
CREATE TABLE webhook_deliveries (
  id              text COLLATE "C" NOT NULL,
  account_id      bigint NOT NULL,
  webhook_id      text COLLATE "C" NOT NULL,
  event_id        text COLLATE "C" NOT NULL,
  event           text NOT NULL,
  -- What is sent, byte by byte, however often.
  body            text NOT NULL,
  status          text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'delivered', 'failed')),
  due_at          timestamptz NOT NULL DEFAULT now(),
  claim_id        uuid,
  claimed_at      timestamptz,
  claimed_until   timestamptz,
  attempts        integer NOT NULL DEFAULT 0,
  -- How many of them were made before the last replay by hand: retries are counted from there.
  attempts_before integer NOT NULL DEFAULT 0 CHECK (attempts_before <= attempts),
  -- Of the last attempt.
  response_code   integer,
  duration_ms     integer,
  error           text,
  created_at      timestamptz NOT NULL,
  finished_at     timestamptz,
  PRIMARY KEY (account_id, id),
  CHECK ((status = 'pending') = (finished_at IS NULL))
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.2);
-- Found webhook by webhook, so that a million that wait for one are not in the way of another's.
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (webhook_id, due_at) WHERE status = 'pending';
CREATE INDEX webhook_deliveries_by_webhook ON webhook_deliveries (webhook_id, id);
CREATE INDEX webhook_deliveries_open ON webhook_deliveries (account_id, id) WHERE status <> 'delivered';
CREATE INDEX webhook_deliveries_by_age ON webhook_deliveries USING brin (created_at) WITH (autosummarize = on);

CREATE TABLE webhook_attempts (
  delivery_id   text COLLATE "C" NOT NULL,
  number        integer NOT NULL,
  attempted_at  timestamptz NOT NULL,
  duration_ms   integer NOT NULL,
  response_code integer,
  error         text,
  -- Only the beginning of it.
  response_body text,
  PRIMARY KEY (delivery_id, number)
);
CREATE INDEX webhook_attempts_by_age ON webhook_attempts USING brin (attempted_at) WITH (autosummarize = on);
