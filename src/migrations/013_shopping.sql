-- Buying at other people's shops: search results, merchants, and orders.

-- A search result, for anyone with the address of its preview, until it expires.
CREATE TABLE shopping_previews (
  token      text COLLATE "C" PRIMARY KEY CHECK (length(token) >= 22),
  website    text NOT NULL,
  query      text NOT NULL,
  products   jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL CHECK (expires_at > created_at)
);
CREATE INDEX shopping_previews_expiry ON shopping_previews (expires_at);

-- A domain that accepts orders, or must not. Its account is unknown until an account proves the domain or the operator
-- names one; from then on only the operator can reassign it.
CREATE TABLE merchants (
  -- As src/shopping/search/website.ts spells it: lower case, no www., with a port only if it is not the default.
  domain               text COLLATE "C" PRIMARY KEY
                       CHECK (domain = lower(domain) AND domain <> '' AND length(domain) <= 255),
  account_id           bigint REFERENCES accounts (id),
  -- Disabled refuses all orders, whatever the site itself says.
  state                text NOT NULL CHECK (state IN ('enabled', 'disabled')),
  enabled_by           text CHECK (enabled_by IN ('domain_proof', 'operator')),
  -- Only the operator re-enables what the operator disabled; a domain that its owner gave up goes to the next account
  -- that proves it.
  disabled_by          text CHECK (disabled_by IN ('operator', 'owner')),
  -- Where orders go that the site does not accept over UCP, and the encrypted secret that signs them.
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

-- Several accounts may claim a domain. Each has its own token to place there, and one of them proves it.
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

-- Orders at other people's shops. The money is set aside in the commit that records the order; the shop's answer
-- decides whether it takes it. Later events (shipping, refunds) are in tables of their own, because a finished order
-- never changes.
CREATE TABLE orders (
  -- Compared byte by byte, so that ids sort by time.
  id                  text COLLATE "C" PRIMARY KEY,
  account_id          bigint NOT NULL REFERENCES accounts (id),
  -- The shop's domain, and how it is reached.
  domain              text NOT NULL,
  channel             text NOT NULL CHECK (channel IN ('ucp', 'webhook')),
  -- What the channel needs to continue: where the checkout is, and its version.
  checkout            jsonb NOT NULL,
  product_title       text NOT NULL,
  product_brand       text NOT NULL,
  product_url         text NOT NULL,
  -- The shop's id of the product.
  item_id             text NOT NULL,
  -- {title, options: [{name, value}]}; item_id is its id. Null for a product without variants.
  variant             jsonb CHECK (jsonb_typeof(variant -> 'title') = 'string' AND jsonb_typeof(variant -> 'options') = 'array'),
  quantity            integer NOT NULL DEFAULT 1 CHECK (quantity BETWEEN 1 AND 100),
  shipping_address    jsonb NOT NULL,
  -- A hash of product and address: the same order twice in a minute is probably a mistake.
  likeness            bytea NOT NULL CHECK (length(likeness) = 32),
  asset               text NOT NULL,
  -- The shop's total, and our fee on top.
  amount              numeric NOT NULL CHECK (amount > 0),
  fee                 numeric NOT NULL CHECK (fee >= 0),
  -- The posting that set the money aside. Null when none did.
  transfer_id         text,
  -- Idempotency keys of our request and of its cancellation, stored before the shop is asked.
  ask_key             uuid NOT NULL,
  cancel_key          uuid NOT NULL,
  -- When the shop was first about to be asked; from then on it may have the order.
  asked_at            timestamptz,
  -- Until when the shop may accept: a shop that is silent until then has not.
  expires_at          timestamptz NOT NULL,
  -- The final deadline: an order that the shop has not taken by then is void, and the money goes back.
  void_at             timestamptz NOT NULL,
  -- When the buyer asked to cancel while the shop might have taken it.
  cancel_requested_at timestamptz,
  -- When the operator marked the order as coming from a restored backup. Since the backup the shop may have been asked,
  -- and may have redeemed and taken it: the money goes back when the shop confirms, or after the final deadline.
  restored_at         timestamptz,
  status              text NOT NULL,
  -- What the shop took, at most the amount.
  charged             numeric CHECK (charged > 0 AND charged <= amount),
  charged_fee         numeric CHECK (charged_fee >= 0 AND charged_fee <= fee),
  -- The account that owned the domain when the order was opened. Only that account gets the order and its payment. Null
  -- when no account owned the domain: the shop is then paid as a claimant.
  merchant_id         bigint REFERENCES accounts (id),
  -- The account that was paid. Null while the domain is unproved: the money is then for the first account that proves
  -- it.
  seller_id           bigint REFERENCES accounts (id),
  merchant_order_id   text,
  merchant_url        text,
  -- Where the buyer continues by hand.
  continue_url        text,
  -- Why it failed, for the buyer and for programs.
  error               text,
  error_code          text,
  status_since        timestamptz NOT NULL DEFAULT clock_timestamp(),
  waits_for           text,
  created_at          timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at          timestamptz NOT NULL DEFAULT clock_timestamp(),
  finished_at         timestamptz,
  CHECK (charged IS NULL OR status = 'completed'),
  CHECK ((charged IS NULL) = (charged_fee IS NULL)),
  CHECK (transfer_id IS NOT NULL OR status = 'needs_buyer'),
  CHECK (continue_url IS NULL OR status = 'needs_buyer')
);
CREATE INDEX orders_by_account ON orders (account_id, id DESC);
CREATE INDEX orders_by_seller ON orders (seller_id, id DESC) WHERE seller_id IS NOT NULL;
CREATE INDEX orders_by_domain ON orders (domain, id DESC) WHERE seller_id IS NULL;
CREATE INDEX orders_alike ON orders (account_id, likeness, created_at DESC);
CREATE INDEX orders_open ON orders (status_since) WHERE finished_at IS NULL;

CREATE TRIGGER orders_guard BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION guard_saga('order');
CREATE TRIGGER orders_update_guard BEFORE UPDATE ON orders FOR EACH ROW
  WHEN (NOT NEW.shipping_address @> '{"name": "Erased"}' OR NEW.shipping_address = OLD.shipping_address)
  EXECUTE FUNCTION guard_saga('order');

-- A finished order never changes, except that its buyer's address is erased when the account closes.
CREATE FUNCTION guard_erased_order() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.finished_at IS NULL
    OR to_jsonb(NEW) - 'shipping_address' IS DISTINCT FROM to_jsonb(OLD) - 'shipping_address'
  THEN
    RAISE EXCEPTION 'of order % only the address can be erased, once it has ended', OLD.id USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER orders_erasure_guard BEFORE UPDATE ON orders FOR EACH ROW
  WHEN (NEW.shipping_address @> '{"name": "Erased"}' AND NEW.shipping_address <> OLD.shipping_address)
  EXECUTE FUNCTION guard_erased_order();

-- The secret that signs an open order's messages after its domain has left the account that received it.
CREATE TABLE order_secrets (
  order_id text COLLATE "C" PRIMARY KEY REFERENCES orders (id),
  sealed   bytea NOT NULL
);

CREATE FUNCTION keep_order_secrets() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO order_secrets (order_id, sealed)
  SELECT o.id, OLD.sealed_orders_secret FROM orders o
   WHERE o.finished_at IS NULL AND o.domain = OLD.domain AND o.channel = 'webhook'
     AND o.merchant_id IS NOT DISTINCT FROM OLD.account_id
  ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER merchants_keep_order_secrets AFTER UPDATE ON merchants FOR EACH ROW
  WHEN (OLD.account_id IS DISTINCT FROM NEW.account_id AND OLD.sealed_orders_secret IS NOT NULL)
  EXECUTE FUNCTION keep_order_secrets();

CREATE FUNCTION forget_order_secret() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM order_secrets WHERE order_id = NEW.id;
  RETURN NULL;
END $$;
CREATE TRIGGER orders_forget_secret AFTER UPDATE ON orders FOR EACH ROW
  WHEN (OLD.finished_at IS NULL AND NEW.finished_at IS NOT NULL AND NEW.channel = 'webhook')
  EXECUTE FUNCTION forget_order_secret();

-- A shop's payment credential: valid once, for one checkout of one shop, for one amount.
CREATE TABLE payment_credentials (
  order_id    text COLLATE "C" PRIMARY KEY REFERENCES orders (id),
  -- Only the token's hash is stored.
  token_hash  bytea NOT NULL CONSTRAINT payment_credentials_token_key UNIQUE CHECK (length(token_hash) = 32),
  domain      text NOT NULL,
  checkout_id text NOT NULL,
  -- In the smallest unit of the currency, as shops count.
  minor       bigint NOT NULL CHECK (minor > 0),
  currency    text NOT NULL,
  expires_at  timestamptz NOT NULL,
  redeemed_at timestamptz,
  -- The shop's idempotency key, for repeating a lost answer.
  redeem_key  text CHECK ((redeem_key IS NULL) OR (redeemed_at IS NOT NULL)),
  -- From then on it cannot be redeemed.
  voided_at   timestamptz
);

CREATE FUNCTION guard_payment_credential() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (OLD.order_id, OLD.token_hash, OLD.domain, OLD.checkout_id, OLD.minor, OLD.currency, OLD.expires_at) IS DISTINCT FROM
     (NEW.order_id, NEW.token_hash, NEW.domain, NEW.checkout_id, NEW.minor, NEW.currency, NEW.expires_at)
  THEN
    RAISE EXCEPTION 'the credential of % cannot become another one', OLD.order_id USING ERRCODE = 'check_violation';
  END IF;
  IF OLD.redeemed_at IS NOT NULL AND (OLD.redeemed_at, OLD.redeem_key) IS DISTINCT FROM (NEW.redeemed_at, NEW.redeem_key) THEN
    RAISE EXCEPTION 'the credential of % is redeemed', OLD.order_id USING ERRCODE = 'check_violation';
  END IF;
  IF OLD.voided_at IS NOT NULL THEN
    RAISE EXCEPTION 'the credential of % is void', OLD.order_id USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER payment_credentials_guard BEFORE UPDATE ON payment_credentials
  FOR EACH ROW EXECUTE FUNCTION guard_payment_credential();

CREATE TABLE order_fulfilments (
  order_id     text COLLATE "C" PRIMARY KEY REFERENCES orders (id),
  tracking_url text,
  fulfilled_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE order_refunds (
  id          text COLLATE "C" PRIMARY KEY,
  order_id    text COLLATE "C" NOT NULL REFERENCES orders (id),
  atomic      numeric NOT NULL CHECK (atomic > 0),
  reason      text,
  transfer_id text NOT NULL UNIQUE,
  created_at  timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX order_refunds_by_order ON order_refunds (order_id);

-- The refunds of an order never exceed what the shop was paid.
CREATE FUNCTION guard_order_refund() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  paid numeric;
  refunded numeric;
BEGIN
  IF TG_OP <> 'INSERT' THEN
    RAISE EXCEPTION 'a refund is never changed' USING ERRCODE = 'check_violation';
  END IF;
  SELECT charged INTO paid FROM orders WHERE id = NEW.order_id FOR UPDATE;
  SELECT coalesce(sum(atomic), 0) INTO refunded FROM order_refunds WHERE order_id = NEW.order_id;
  IF paid IS NULL OR refunded + NEW.atomic > paid THEN
    RAISE EXCEPTION 'order % was not paid as much as that', NEW.order_id USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER order_refunds_guard BEFORE INSERT OR UPDATE OR DELETE ON order_refunds
  FOR EACH ROW EXECUTE FUNCTION guard_order_refund();

-- The key that signs our requests to shops. Our profile publishes the public key.
CREATE TABLE agent_keys (
  name       text PRIMARY KEY,
  sealed     bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
