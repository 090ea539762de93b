-- Invoices from one account to another.

CREATE TABLE invoices (
  -- Compared byte by byte, so that ids sort by time.
  id              text COLLATE "C" PRIMARY KEY,
  from_account_id bigint NOT NULL REFERENCES accounts (id),
  -- The recipient. A pending invoice to an email is meant for the account that has verified it; the account that pays
  -- is stored here.
  to_account_id   bigint REFERENCES accounts (id) CHECK (to_account_id <> from_account_id),
  to_email        text CHECK (to_email = lower(to_email)),
  asset           text NOT NULL,
  atomic          numeric NOT NULL CHECK (atomic > 0),
  description     text NOT NULL CHECK (description <> ''),
  due_at          timestamptz,
  -- Opens the page of the invoice.
  page_token      text NOT NULL CONSTRAINT invoices_page_token_key UNIQUE CHECK (length(page_token) >= 22),
  status          text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'paid', 'cancelled')),
  -- The posting that paid it, in the same commit.
  transfer_id     text CONSTRAINT invoices_transfer_key UNIQUE,
  created_at      timestamptz NOT NULL DEFAULT now(),
  paid_at         timestamptz,
  cancelled_at    timestamptz,
  CHECK (to_account_id IS NOT NULL OR to_email IS NOT NULL),
  CHECK ((status = 'paid') = (paid_at IS NOT NULL)),
  CHECK ((status = 'paid') = (transfer_id IS NOT NULL)),
  CHECK (status <> 'paid' OR to_account_id IS NOT NULL),
  CHECK ((status = 'cancelled') = (cancelled_at IS NOT NULL))
);
CREATE INDEX invoices_sent ON invoices (from_account_id, id DESC);
CREATE INDEX invoices_received ON invoices (to_account_id, id DESC) WHERE to_account_id IS NOT NULL;
CREATE INDEX invoices_by_email ON invoices (to_email, id DESC) WHERE to_account_id IS NULL;

-- The request never changes, so the payer pays what was shown; a finished invoice stays finished; and only the
-- transitions of src/payments/invoices/invoice.ts are allowed.
CREATE FUNCTION guard_invoice() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (OLD.id, OLD.from_account_id, OLD.to_email, OLD.asset, OLD.atomic, OLD.description, OLD.due_at, OLD.page_token,
      OLD.created_at)
    IS DISTINCT FROM
     (NEW.id, NEW.from_account_id, NEW.to_email, NEW.asset, NEW.atomic, NEW.description, NEW.due_at, NEW.page_token,
      NEW.created_at)
    OR (NEW.to_account_id IS DISTINCT FROM OLD.to_account_id AND (OLD.to_account_id IS NOT NULL OR NEW.status <> 'paid'))
  THEN
    RAISE EXCEPTION 'invoice % cannot become another one', OLD.id USING ERRCODE = 'check_violation';
  END IF;
  IF OLD.status <> 'pending' OR NEW.status NOT IN ('paid', 'cancelled') THEN
    RAISE EXCEPTION 'invoice % cannot go from % to %', OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER invoices_guard BEFORE UPDATE ON invoices FOR EACH ROW
  WHEN (NOT (OLD.to_email IS NOT NULL AND NEW.to_email IS NULL)) EXECUTE FUNCTION guard_invoice();

-- A paid invoice never changes, except that its payer's email is erased when the account closes.
CREATE FUNCTION guard_erased_invoice() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.status = 'pending' OR to_jsonb(NEW) - 'to_email' IS DISTINCT FROM to_jsonb(OLD) - 'to_email' THEN
    RAISE EXCEPTION 'of invoice % only the email can be erased, once it is paid', OLD.id USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER invoices_erasure_guard BEFORE UPDATE ON invoices FOR EACH ROW
  WHEN (OLD.to_email IS NOT NULL AND NEW.to_email IS NULL) EXECUTE FUNCTION guard_erased_invoice();
