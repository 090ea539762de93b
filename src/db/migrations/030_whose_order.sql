-- Whose order it is, and until when.
-- serves_from: 23

ALTER TABLE orders
  -- The account that the domain belonged to when the order was opened. It alone is sent the order and paid for it. Null where the
  -- domain belonged to no account: then the shop is paid under its name.
  ADD COLUMN merchant_id bigint REFERENCES accounts (id),
  -- The last deadline: an order that the shop has not taken by then is void, and the money goes back.
  ADD COLUMN void_at timestamptz,
  -- When the buyer asked to have it cancelled while the shop might have taken it.
  ADD COLUMN cancel_requested_at timestamptz;

-- Of the open orders of releases before. Where the domain may have changed hands since, it stays null: then the first account that the
-- domain belonged to is paid, and the order is not signed with the secret of a later one.
UPDATE orders o SET merchant_id = m.account_id
  FROM merchants m LEFT JOIN claimants c ON c.kind = 'domain' AND c.name = m.domain
 WHERE o.finished_at IS NULL AND m.domain = o.domain AND m.account_id IS NOT NULL
   AND (m.changed_at <= o.created_at OR m.account_id = c.account_id);
UPDATE orders SET void_at = greatest(expires_at, clock_timestamp()) + interval '1 day' WHERE finished_at IS NULL;

ALTER TABLE orders
  -- For a process of the release before, which does not say it.
  ALTER COLUMN void_at SET DEFAULT clock_timestamp() + interval '25 hours',
  ADD CHECK (finished_at IS NOT NULL OR void_at IS NOT NULL);

-- Likewise for a process of the release before.
CREATE FUNCTION find_merchant_of_order() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  SELECT account_id INTO NEW.merchant_id FROM merchants WHERE domain = NEW.domain FOR SHARE;
  RETURN NEW;
END $$;
CREATE TRIGGER orders_merchant BEFORE INSERT ON orders
  FOR EACH ROW WHEN (NEW.merchant_id IS NULL) EXECUTE FUNCTION find_merchant_of_order();

-- What an open order goes on being signed with after its domain has left the account that received it.
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
