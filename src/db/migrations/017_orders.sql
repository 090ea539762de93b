-- Orders at other people's shops. The money is set aside in the commit that records the order; the shop's answer decides
-- whether it takes it. What becomes of an order afterwards (sent, refunded) stands beside it, because an order that has
-- ended never changes.
CREATE TABLE orders (
  -- Compared byte by byte, so that the order of ids is the order of time.
  id                text COLLATE "C" PRIMARY KEY,
  account_id        bigint NOT NULL REFERENCES accounts (id),
  -- The shop, by the name of its site, and how it is reached.
  domain            text NOT NULL,
  channel           text NOT NULL CHECK (channel IN ('ucp', 'webhook')),
  -- What the channel needs to know to go on with it: where the checkout is, in which version.
  checkout          jsonb NOT NULL,
  product_title     text NOT NULL,
  product_brand     text NOT NULL,
  product_url       text NOT NULL,
  -- What the shop calls it.
  item_id           text NOT NULL,
  shipping_address  jsonb NOT NULL,
  -- The same product to the same address: what is bought twice in a minute is likely a mistake.
  likeness          bytea NOT NULL CHECK (length(likeness) = 32),
  asset             text NOT NULL,
  -- What the shop asks for in all, and our fee on top of it.
  amount            numeric NOT NULL CHECK (amount > 0),
  fee               numeric NOT NULL CHECK (fee >= 0),
  -- The posting that set it aside. Null when nothing ever was.
  transfer_id       text,
  -- What the shop knows our asking by, and our taking back. They are here before it is asked.
  ask_key           uuid NOT NULL,
  cancel_key        uuid NOT NULL,
  -- When it was first about to be asked; from then on it may have the order.
  asked_at          timestamptz,
  -- Until when the shop may take it: a shop that stays silent until then has not.
  expires_at        timestamptz NOT NULL,
  status            text NOT NULL,
  -- What the shop has taken of the amount: never more.
  charged           numeric CHECK (charged > 0 AND charged <= amount),
  charged_fee       numeric CHECK (charged_fee >= 0 AND charged_fee <= fee),
  -- Whose account was paid. Null while nobody has proved the domain: then it is whoever proves it first.
  seller_id         bigint REFERENCES accounts (id),
  merchant_order_id text,
  merchant_url      text,
  -- Where the buyer goes on by hand.
  continue_url      text,
  -- Why it failed, in words for the buyer, and in a word for programs.
  error             text,
  error_code        text,
  status_since      timestamptz NOT NULL DEFAULT clock_timestamp(),
  waits_for         text,
  created_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
  finished_at       timestamptz,
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
CREATE TRIGGER orders_guard BEFORE INSERT OR UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION guard_saga('order');

-- What a shop is given to pay itself with: good once, for one checkout of one shop, for one amount.
CREATE TABLE payment_credentials (
  order_id    text COLLATE "C" PRIMARY KEY REFERENCES orders (id),
  -- The token itself is kept nowhere.
  token_hash  bytea NOT NULL CONSTRAINT payment_credentials_token_key UNIQUE CHECK (length(token_hash) = 32),
  domain      text NOT NULL,
  checkout_id text NOT NULL,
  -- In the smallest unit of the currency, as shops count.
  minor       bigint NOT NULL CHECK (minor > 0),
  currency    text NOT NULL,
  expires_at  timestamptz NOT NULL,
  redeemed_at timestamptz,
  -- What the shop knows its asking by, so that a lost answer can be asked for again.
  redeem_key  text CHECK ((redeem_key IS NULL) OR (redeemed_at IS NOT NULL)),
  -- From then on nobody can redeem it.
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

-- All refunds of an order together are at most what the shop was paid for it.
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

-- The key with which we sign what we ask of shops. Its public half stands in our profile.
CREATE TABLE agent_keys (
  name       text PRIMARY KEY,
  sealed     bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
