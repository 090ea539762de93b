-- Webhooks, and the deliveries to them.

CREATE TABLE webhooks (
  id            text COLLATE "C" PRIMARY KEY,
  account_id    bigint NOT NULL REFERENCES accounts (id),
  -- The key that created it.
  key_id        text NOT NULL REFERENCES api_keys (id),
  url           text NOT NULL,
  events        text[] NOT NULL CHECK (cardinality(events) > 0),
  -- Encrypted with the operator's secret. Null when none was given, and once the webhook is deleted.
  sealed_secret bytea,
  -- Disabled when its receiver answered 410; deleted by its owner. Both are final.
  status        text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'disabled', 'deleted')),
  created_at    timestamptz NOT NULL DEFAULT now(),
  ended_at      timestamptz,
  CHECK ((status = 'active') = (ended_at IS NULL))
);
CREATE INDEX webhooks_by_account ON webhooks (account_id, id) WHERE status <> 'deleted';
CREATE INDEX webhooks_by_key ON webhooks (key_id) WHERE status <> 'deleted';
CREATE INDEX webhooks_deleted ON webhooks (ended_at) WHERE status = 'deleted';

-- One event for one webhook. A process holds the delivery that it attempts under `claim_id` until `claimed_until`; a
-- late process finds another claim and writes nothing. The claim is in no index, so claiming updates none. There are no
-- foreign keys: thousands of rows come and go per second, and each would be checked.
CREATE TABLE webhook_deliveries (
  id              text COLLATE "C" NOT NULL,
  account_id      bigint NOT NULL,
  webhook_id      text COLLATE "C" NOT NULL,
  event_id        text COLLATE "C" NOT NULL,
  event           text NOT NULL,
  -- The exact bytes of every attempt.
  body            text NOT NULL,
  status          text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'delivered', 'failed')),
  due_at          timestamptz NOT NULL DEFAULT now(),
  claim_id        uuid,
  claimed_at      timestamptz,
  claimed_until   timestamptz,
  attempts        integer NOT NULL DEFAULT 0,
  -- Attempts before the last manual replay: retries are counted from there.
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
-- Found per webhook, so that a million deliveries waiting for one do not delay another's.
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
  -- Only its beginning.
  response_body text,
  PRIMARY KEY (delivery_id, number)
);
CREATE INDEX webhook_attempts_by_age ON webhook_attempts USING brin (attempted_at) WITH (autosummarize = on);
