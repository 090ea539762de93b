import pg from 'pg';
import { cpuPerThing } from './cpu.ts';
import { postmasterOf } from './http.ts';
import { type Measured, summarise } from './measure.ts';

/**
 * The yardstick: the least that a correct ledger does in one transaction per transfer, written as tersely as PostgreSQL
 * allows (whole-number amounts, no idempotency, no events), with the same busy fee account and the same rows at the end.
 */
const schema = `
  CREATE TABLE account (id bigint PRIMARY KEY, balance bigint NOT NULL CHECK (balance >= 0)) WITH (fillfactor = 50);
  CREATE TABLE transfer (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    sender bigint NOT NULL, recipient bigint NOT NULL, amount bigint NOT NULL, fee bigint NOT NULL,
    at timestamptz NOT NULL DEFAULT now());
  CREATE TABLE entry (
    account_id bigint NOT NULL, transfer_id bigint NOT NULL, amount bigint NOT NULL, balance_after bigint NOT NULL,
    PRIMARY KEY (account_id, transfer_id));
  CREATE FUNCTION make_transfer(from_id bigint, to_id bigint, amount bigint, fee bigint) RETURNS bigint
  LANGUAGE plpgsql AS $$
  DECLARE made bigint; sent bigint; received bigint; fees bigint;
  BEGIN
    PERFORM FROM account WHERE id IN (from_id, to_id) ORDER BY id FOR NO KEY UPDATE;
    UPDATE account SET balance = balance - amount WHERE id = from_id RETURNING balance INTO sent;
    UPDATE account SET balance = balance + amount - fee WHERE id = to_id RETURNING balance INTO received;
    UPDATE account SET balance = balance + fee WHERE id = 0 RETURNING balance INTO fees;
    INSERT INTO transfer (sender, recipient, amount, fee) VALUES (from_id, to_id, amount, fee) RETURNING id INTO made;
    INSERT INTO entry VALUES (from_id, made, -amount, sent), (to_id, made, amount - fee, received), (0, made, fee, fees);
    RETURN made;
  END $$;`;

export async function prepareOneAtATime(url: string, people: number): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(schema);
  await client.query('INSERT INTO account SELECT i, 1000000000000 FROM generate_series(0, $1::int) i', [people]);
  await client.query('VACUUM ANALYZE');
  await client.end();
}

export interface OneAtATimeOptions {
  readonly url: string;
  readonly connections: number;
  readonly seconds: number;
  /** One transfer, and the values for it. */
  readonly text: string;
  readonly values: () => readonly unknown[];
}

/** Every connection makes one transfer after the other, as fast as it is answered. */
export async function measureOneAtATime(options: OneAtATimeOptions): Promise<Measured> {
  const { url, connections, seconds, text, values } = options;
  const clients = await Promise.all(
    Array.from({ length: connections }, async () => {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      return client;
    }),
  );
  const latencies: number[] = [];
  const begun = performance.now();
  const end = begun + seconds * 1_000;
  const { cpu } = await cpuPerThing(
    { postgres: await postmasterOf(url) },
    () =>
      Promise.all(
        clients.map(async (client) => {
          while (performance.now() < end) {
            const started = performance.now();
            await client.query({ name: 'transfer', text, values: [...values()] });
            latencies.push(performance.now() - started);
          }
        }),
      ),
    () => latencies.length,
  );
  const elapsed = performance.now() - begun;
  await Promise.all(clients.map((client) => client.end()));
  return { ...summarise(latencies.length, elapsed, latencies), cpu };
}

/** Two different ones of so many, by their places. */
export function twoOf(count: number): [number, number] {
  const from = Math.floor(Math.random() * count);
  return [from, (from + 1 + Math.floor(Math.random() * (count - 1))) % count];
}

/** The yardstick's transfer between two of so many people. */
export function plainTransfer(people: number): Pick<OneAtATimeOptions, 'text' | 'values'> {
  return {
    text: 'SELECT make_transfer($1, $2, $3, $4)',
    values: () => [...twoOf(people).map((place) => place + 1), 50_000_000, 750_000],
  };
}
