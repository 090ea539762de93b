-- Every Idempotency-Key of an account in one place, whatever it was sent to: a key that has paid a transfer is not free for
-- a withdrawal. A row is one of three things: a posting (which is its own answer), the answer of another request, or
-- neither, when the request finds out by other means what it has done already.
ALTER TABLE ledger.idempotency_keys
  ALTER COLUMN posting_id DROP NOT NULL,
  ADD COLUMN status smallint,
  ADD COLUMN answer jsonb;

-- src/ledger/encode-batch.ts makes the same digests. A key that was used for a transfer as well stays the transfer's: sent
-- again, the other request is refused, and nothing is done twice.
INSERT INTO ledger.idempotency_keys (digest, request_digest, posted_at, status, answer)
  SELECT encode(substring(sha256(convert_to(account_id || ' ' || key, 'UTF8')) FROM 1 FOR 16), 'hex')::uuid,
         encode(substring(request_hash FROM 1 FOR 16), 'hex')::uuid, created_at, status, answer
    FROM public.idempotency_keys
   WHERE created_at > now() - interval '48 hours' AND octet_length(request_hash) >= 16
   ORDER BY created_at
  ON CONFLICT (digest) DO NOTHING;

DROP TABLE public.idempotency_keys;
