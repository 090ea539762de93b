-- Wakes the loops of every process when there is work, in the commit that creates it.
-- serves_from: 16

CREATE FUNCTION wake_loops() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('paywright_work', TG_ARGV[0]);
  RETURN NULL;
END $$;

-- For work that has a loop per chain.
CREATE FUNCTION wake_loop_of_chain() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('paywright_work', TG_ARGV[0] || '/' || NEW.chain);
  RETURN NULL;
END $$;

-- Commits that notify wait for each other, so batches of postings do not: the process that posted them notifies afterwards, at most
-- ten times a second (src/kernel/jobs/wakes.ts). Release 0.1.0 does not, and its batches have another application_name.
CREATE TRIGGER events_wake AFTER INSERT ON ledger.events
  FOR EACH ROW WHEN (current_setting('application_name') <> 'paywright-batches') EXECUTE FUNCTION wake_loops('events');

CREATE TRIGGER webhook_deliveries_wake AFTER INSERT ON webhook_deliveries
  FOR EACH STATEMENT EXECUTE FUNCTION wake_loops('deliveries');
CREATE TRIGGER webhook_deliveries_wake_replayed AFTER UPDATE OF status ON webhook_deliveries
  FOR EACH ROW WHEN (OLD.status <> 'pending' AND NEW.status = 'pending') EXECUTE FUNCTION wake_loops('deliveries');
-- The deliveries of an ended webhook are closed.
CREATE TRIGGER webhooks_wake_ended AFTER UPDATE OF status ON webhooks
  FOR EACH ROW WHEN (OLD.status <> NEW.status) EXECUTE FUNCTION wake_loops('deliveries');

-- Tokens to sweep, and steps that wait for tokens.
CREATE TRIGGER unswept_changes_wake AFTER INSERT ON unswept_changes
  FOR EACH ROW EXECUTE FUNCTION wake_loop_of_chain('sweeps');
CREATE TRIGGER unswept_wallets_wake AFTER INSERT ON unswept_wallets
  FOR EACH ROW EXECUTE FUNCTION wake_loop_of_chain('sweeps');
CREATE TRIGGER chain_step_leaves_wake AFTER INSERT OR UPDATE OF wallet_id ON chain_step_leaves
  FOR EACH ROW WHEN (NEW.wallet_id IS NULL) EXECUTE FUNCTION wake_loop_of_chain('sweeps');

-- Arrivals at house wallets, and what steps learn about theirs.
CREATE TRIGGER undecided_arrivals_wake AFTER INSERT OR UPDATE OF block_number ON undecided_arrivals
  FOR EACH ROW EXECUTE FUNCTION wake_loop_of_chain('arrivals');
CREATE TRIGGER chain_step_arrivals_wake AFTER INSERT OR UPDATE OF proof ON chain_step_arrivals
  FOR EACH ROW EXECUTE FUNCTION wake_loop_of_chain('arrivals');
CREATE TRIGGER chain_steps_wake AFTER UPDATE OF hash, hashes ON chain_steps
  FOR EACH ROW WHEN (OLD.hash IS DISTINCT FROM NEW.hash OR OLD.hashes <> NEW.hashes)
  EXECUTE FUNCTION wake_loop_of_chain('arrivals');

CREATE TRIGGER held_deposits_wake AFTER INSERT OR UPDATE OF released_at, rejected_at ON held_deposits
  FOR EACH ROW WHEN (NEW.rejected_at IS NULL) EXECUTE FUNCTION wake_loop_of_chain('held_deposits');

CREATE TRIGGER deposits_wake AFTER INSERT OR UPDATE OF home_bound, bridge_id, kept_at ON deposits
  FOR EACH ROW WHEN (NEW.home_bound AND NEW.bridge_id IS NULL AND NEW.kept_at IS NULL)
  EXECUTE FUNCTION wake_loop_of_chain('carry_home');

CREATE TRIGGER funding_links_wake AFTER INSERT ON funding_links
  FOR EACH ROW EXECUTE FUNCTION wake_loop_of_chain('funding_links');
