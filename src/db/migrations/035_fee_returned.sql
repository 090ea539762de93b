-- What came back of the fees of purchases. When a purchase comes back, later ones of the same 24 hours cost less: the excess of their fees
-- comes back in the same commit. A row for each purchase that gave something back, and for each one that came back itself. A table
-- of its own, because a purchase that is finished never changes.
CREATE TABLE purchase_fees_returned (
  purchase_id text COLLATE "C" NOT NULL REFERENCES purchases (id),
  -- The purchase that came back.
  because_of  text COLLATE "C" NOT NULL REFERENCES purchases (id),
  atomic      numeric NOT NULL CHECK (atomic > 0),
  PRIMARY KEY (purchase_id, because_of)
);

-- Until now a purchase that came back brought back its own fee, all of it.
INSERT INTO purchase_fees_returned (purchase_id, because_of, atomic)
  SELECT id, id, fee FROM purchases WHERE status = 'returned' AND fee > 0;

-- No purchase gives back more than it cost. Its row is locked by whoever gives back, so two at once count each other's.
CREATE FUNCTION guard_fee_returned() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  charged numeric;
BEGIN
  SELECT fee INTO charged FROM purchases WHERE id = NEW.purchase_id FOR UPDATE;
  IF (SELECT sum(atomic) FROM purchase_fees_returned WHERE purchase_id = NEW.purchase_id) > charged THEN
    RAISE EXCEPTION 'purchase % cost a fee of %, and more would come back', NEW.purchase_id, charged
      USING ERRCODE = 'check_violation';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER purchase_fees_returned_guard AFTER INSERT OR UPDATE ON purchase_fees_returned
  FOR EACH ROW EXECUTE FUNCTION guard_fee_returned();
