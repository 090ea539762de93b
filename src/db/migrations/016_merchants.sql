-- Who may be paid for what a domain sells, and who only says so.

-- A domain that takes orders, or is not to. Its account is not known until somebody has proved the domain or the operator has
-- named one; from then on only the operator gives it to another.
CREATE TABLE merchants (
  -- As src/shopping/website.ts spells it: lower case, no www., with a port only where it has one of its own.
  domain               text COLLATE "C" PRIMARY KEY
                       CHECK (domain = lower(domain) AND domain <> '' AND length(domain) <= 255),
  account_id           bigint REFERENCES accounts (id),
  -- Disabled closes the gate, whatever the site itself says.
  state                text NOT NULL CHECK (state IN ('enabled', 'disabled')),
  enabled_by           text CHECK (enabled_by IN ('domain_proof', 'operator')),
  -- What the operator has closed only the operator opens; what its owner gave up whoever proves it next.
  disabled_by          text CHECK (disabled_by IN ('operator', 'owner')),
  -- Where orders are sent that the site does not take over UCP, and what they are signed with, sealed.
  orders_url           text,
  sealed_orders_secret bytea,
  proved_at            timestamptz,
  created_at           timestamptz NOT NULL DEFAULT clock_timestamp(),
  changed_at           timestamptz NOT NULL DEFAULT clock_timestamp(),
  CHECK ((state = 'disabled') = (disabled_by IS NOT NULL)),
  CHECK (state = 'disabled' OR enabled_by IS NOT NULL),
  CHECK (disabled_by IS DISTINCT FROM 'owner' OR account_id IS NULL)
);
CREATE INDEX merchants_by_account ON merchants (account_id, domain) WHERE account_id IS NOT NULL;

-- Several accounts may say that a domain is theirs. Each has a token of its own to put there, and one proves it.
CREATE TABLE merchant_claims (
  domain               text COLLATE "C" NOT NULL
                       CHECK (domain = lower(domain) AND domain <> '' AND length(domain) <= 255),
  account_id           bigint NOT NULL REFERENCES accounts (id),
  token                text NOT NULL CHECK (length(token) >= 32),
  -- They become the merchant's when the domain is proved.
  orders_url           text,
  sealed_orders_secret bytea,
  created_at           timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (domain, account_id)
);
CREATE INDEX merchant_claims_by_account ON merchant_claims (account_id, domain);
