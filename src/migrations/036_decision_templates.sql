-- What the records of allowed payments have in common is stored once, so a payment writes a tenth of its record.
-- serves_from: 16

-- The text that all records about one key, its policies, an operation and a rule share. chr(3) stands for what differs: the amount, the
-- approval, the name of who is paid, and the ids of the record and its posting, in this order. With these it is the form of a record (031).
CREATE TABLE decision_templates (
  id     uuid PRIMARY KEY,
  key_id text NOT NULL,
  form   text NOT NULL,
  -- So that all processes mean the same text by an id.
  CHECK (id = encode(substr(sha256(convert_to(form, 'UTF8')), 1, 16), 'hex')::uuid)
);
CREATE TRIGGER decision_templates_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON decision_templates
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_decisions();

-- A record waits with its own form, as before, or with a template and what differs from it, divided by chr(3).
ALTER TABLE decisions_waiting
  ALTER COLUMN key_id DROP NOT NULL,
  ALTER COLUMN form DROP NOT NULL,
  ADD COLUMN template uuid,
  ADD COLUMN parts text,
  ADD CHECK (CASE WHEN template IS NULL THEN form IS NOT NULL AND key_id IS NOT NULL AND parts IS NULL
                  ELSE form IS NULL AND key_id IS NULL AND parts IS NOT NULL END);

-- As in 031, from the form or the template.
CREATE OR REPLACE VIEW written_decisions AS
  SELECT w.ctid AS row, w.id, w.account_id, coalesce(w.key_id, t.key_id) AS key_id, w.at, w.outcome,
         p.parts[1] || to_char(w.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '","budgets":'
           || CASE WHEN w.posting_id IS NULL THEN p.parts[2] ELSE b.list END || ',' || p.parts[3]
           || coalesce(to_json(a.handle)::text, '') || p.parts[4] AS text
    FROM decisions_waiting w
    LEFT JOIN LATERAL (SELECT x.key_id, string_to_array(x.form, chr(3)) AS fixed, string_to_array(w.parts, chr(3)) AS given
                         FROM decision_templates x WHERE x.id = w.template OFFSET 0) t ON true
   CROSS JOIN LATERAL (
     SELECT string_to_array(coalesce(w.form, t.fixed[1] || t.given[1] || t.fixed[2] || t.given[2] || t.fixed[3] || t.given[3]
              || t.fixed[4] || t.given[4] || t.fixed[5] || t.given[5] || t.fixed[6]), chr(1)) AS parts OFFSET 0) p
    LEFT JOIN LATERAL (SELECT x.handle FROM accounts x WHERE x.id = w.payee OFFSET 0) a ON true
    LEFT JOIN LATERAL (SELECT x.amounts, x.remaining FROM ledger.spendings x WHERE x.posting_id = w.posting_id OFFSET 0) s ON true
   CROSS JOIN LATERAL (
     SELECT CASE WHEN count(*) = count(t.line) THEN '[' || coalesce(string_agg(t.line, ','), '') || ']' END AS list
       FROM (SELECT u.beginning || trim_scale(u.remaining * 0.000001) || '","remainingBefore":"'
                      || trim_scale((u.remaining + u.amount) * 0.000001) || '","taken":"' || trim_scale(u.amount * 0.000001) || '"}' AS line
               FROM unnest(string_to_array(p.parts[2], chr(2)), s.amounts, s.remaining) u (beginning, amount, remaining)
            ) t) b;

-- As in 031, with templates. `template_ids`, `template_keys` and `template_forms` (a line each) are those that may not be stored yet;
-- `decision_parts` are what differs from the template, a line for each decision. The function of 031 stays for processes that
-- were started before this migration.
CREATE FUNCTION ledger.post_decided(
  touched bigint[], unseen bigint[],
  ids uuid[], types text[], key_ids text[], senders bigint[], recipients bigint[],
  assets bigint[], amounts numeric[], fees numeric[], descriptions text[], refs text[], details jsonb[],
  sender_events text[], recipient_events text[],
  keys uuid[], request_digests uuid[],
  payers integer[], payees integer[], fees_to integer[],
  entry_postings integer[], entry_places integer[], entry_amounts numeric[],
  stamps bigint[], budgets bigint[], spend_postings integer[], spend_places integer[], spend_amounts numeric[],
  spent_on text[], returns_of text[], return_parts numeric[], return_wholes numeric[],
  guards uuid[],
  decision_places integer[], decision_ids uuid[], decision_payees bigint[], decision_templates uuid[], decision_parts text,
  template_ids uuid[], template_keys text[], template_forms text,
  OUT outcomes text, OUT first_at timestamptz, OUT earlier jsonb
) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
  written integer;
BEGIN
  SELECT p.outcomes, p.first_at, p.earlier INTO outcomes, first_at, earlier
    FROM ledger.post(touched, unseen, ids, types, key_ids, senders, recipients, assets, amounts, fees, descriptions, refs, details,
      sender_events, recipient_events, keys, request_digests, payers, payees, fees_to, entry_postings, entry_places, entry_amounts,
      stamps, budgets, spend_postings, spend_places, spend_amounts, spent_on, returns_of, return_parts, return_wholes, guards) p;
  IF position('P' IN outcomes) = 0 THEN RETURN; END IF;
  IF template_ids IS NOT NULL THEN
    INSERT INTO public.decision_templates (id, key_id, form)
      SELECT t.id, t.key_id, t.form FROM unnest(template_ids, template_keys, string_to_array(template_forms, E'\n')) t (id, key_id, form)
       ORDER BY t.id
      ON CONFLICT DO NOTHING;
  END IF;
  INSERT INTO public.decisions_waiting (id, account_id, at, posting_id, outcome, payee, template, parts)
    SELECT d.id, senders[d.place], first_at + (d.place - 1) * interval '1 microsecond', ids[d.place], 'allow', d.payee, t.id, d.parts
      FROM unnest(decision_places, decision_ids, decision_payees, decision_templates, string_to_array(decision_parts, E'\n'))
             d (place, id, payee, template, parts)
     CROSS JOIN LATERAL (SELECT x.id FROM public.decision_templates x WHERE x.id = d.template OFFSET 0) t
     WHERE substr(outcomes, d.place, 1) = 'P';
  GET DIAGNOSTICS written = ROW_COUNT;
  -- The caller may remember one that a failover to an asynchronous standby has taken away. It forgets them all, and posts again.
  IF written <> (SELECT count(*) FROM unnest(decision_places) d (place) WHERE substr(outcomes, d.place, 1) = 'P') THEN
    RAISE EXCEPTION 'a template of decisions is not stored' USING ERRCODE = 'PWTPL';
  END IF;
END $$;
