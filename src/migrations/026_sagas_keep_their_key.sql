-- Sagas keep the key that asked for them: a frozen key's open ones stop at their next reversible step.
-- serves_from: 16

-- Null when no key asked for it, such as a deposit that is carried home, and in rows from before this column.
ALTER TABLE withdrawals ADD COLUMN key_id text;
ALTER TABLE bridges ADD COLUMN key_id text;
ALTER TABLE swaps ADD COLUMN key_id text;
ALTER TABLE orders ADD COLUMN key_id text;
ALTER TABLE purchases ADD COLUMN key_id text;

-- The part of the gas fee for the source chain: kept if a frozen key stops the transfer after gas was spent.
ALTER TABLE bridges ADD COLUMN gas_leaving numeric NOT NULL DEFAULT 0 CHECK (gas_leaving BETWEEN 0 AND gas_fee);
-- The gas of a withdrawal as it was quoted, and what of it was kept because a frozen key stopped it after native coin was unwrapped.
ALTER TABLE withdrawals ADD COLUMN gas numeric NOT NULL DEFAULT 0 CHECK (gas BETWEEN 0 AND fee);
ALTER TABLE withdrawals ADD COLUMN gas_kept numeric NOT NULL DEFAULT 0 CHECK (gas_kept BETWEEN 0 AND gas);

-- Whom a purchase paid, as rules name it: in lower case and without the port that its scheme implies. Release 0.1.0 does not say.
ALTER TABLE purchases ADD COLUMN host text;
CREATE FUNCTION host_of_url(url text) RETURNS text LANGUAGE sql IMMUTABLE RETURN regexp_replace(
  regexp_replace(
    lower(substring(url FROM '^[A-Za-z]+://([^/?#]*)')),
    CASE WHEN url ~* '^https:' THEN ':443$' ELSE ':80$' END, ''),
  '\.(?=:|$)', '');
UPDATE purchases SET host = host_of_url(url);
CREATE FUNCTION name_host() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.host := public.host_of_url(NEW.url);
  RETURN NEW;
END $$;
CREATE TRIGGER purchases_host BEFORE INSERT ON purchases FOR EACH ROW WHEN (NEW.host IS NULL) EXECUTE FUNCTION name_host();
CREATE INDEX purchases_by_host ON purchases (account_id, host);
