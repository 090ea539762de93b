-- Idempotency-Keys are forgotten after two days, and purchases are kept: the same key may then stand for another one. That a key
-- that is still known stands for one purchase is seen to by ledger.idempotency_keys, in the same commit.
ALTER TABLE purchases DROP CONSTRAINT purchases_key_digest_key;
CREATE INDEX purchases_by_key ON purchases (key_digest, id) WHERE key_digest IS NOT NULL;
