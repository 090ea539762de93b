-- Wakes the watcher of a chain, in the same commit, when a transaction of a step that expects an arrival is stored: the
-- arrival may have been booked as surplus before the transaction was known (src/payments/deposits/reclaim-surplus.ts).
-- serves_from: 16

CREATE FUNCTION wake_arrivals_of_attempt() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('paywright_work', 'arrivals/' || e.chain) FROM chain_step_arrivals e
    WHERE e.step_id = NEW.transaction_id AND e.known_by = 'transaction' AND e.arrived_at IS NULL AND e.ended_at IS NULL;
  RETURN NULL;
END $$;
CREATE TRIGGER key_transaction_attempts_wake AFTER INSERT ON key_transaction_attempts
  FOR EACH ROW EXECUTE FUNCTION wake_arrivals_of_attempt();
