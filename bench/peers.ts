import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import type { Measured } from './measure.ts';
import { measureOneAtATime, twoOf } from './one-at-a-time.ts';

const files = [
  'vendor/scoville-pgsql-ulid/ulid-to-uuid.sql',
  'vendor/scoville-pgsql-ulid/uuid-to-ulid.sql',
  'pgledger.sql',
];

/**
 * pgledger (github.com/pgr0ss/pgledger) as its authors publish it, from a checkout that the user gives: a transfer and
 * its fee in one call, without idempotency, keys and events, over the same kind of connections.
 */
export async function preparePgledger(url: string, checkout: string, people: number) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  for (const file of files) await client.query(readFileSync(join(checkout, file), 'utf8'));
  const { rows } = await client.query<{ id: string }>(
    `SELECT (pgledger_create_account('account ' || i, 'USDC')).id FROM generate_series(0, $1::int) i`,
    [people],
  );
  await client.query('VACUUM ANALYZE');
  await client.end();
  const [fees = '', ...ids] = rows.map(({ id }) => id);
  return (connections: number, seconds: number): Promise<Measured> =>
    measureOneAtATime({
      url,
      connections,
      seconds,
      text: `SELECT * FROM pgledger_create_transfers(
               ROW($1::text, $2::text, 49.25)::transfer_request, ROW($1::text, $3::text, 0.75)::transfer_request)`,
      values: () => {
        const [from, to] = twoOf(ids.length);
        return [ids[from], ids[to], fees];
      },
    });
}
