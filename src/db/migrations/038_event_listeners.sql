-- How many active webhooks of the account receive this type of event, so that the deliveries of an invoice can be counted before it is made.
-- serves_from: 35
ALTER TABLE ledger.event_subscriptions ADD COLUMN listeners integer NOT NULL DEFAULT 1 CHECK (listeners > 0);
UPDATE ledger.event_subscriptions s SET listeners = w.listeners
  FROM (SELECT account_id, type, count(*) AS listeners FROM webhooks, unnest(events) type
         WHERE status = 'active' GROUP BY account_id, type HAVING count(*) > 1) w
 WHERE (s.account_id, s.type) = (w.account_id, w.type);
