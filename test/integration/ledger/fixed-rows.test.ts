import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { catalogueRows, prepareDatabase } from '../../../src/app/database.ts';
import { features } from '../../../src/app/features.ts';
import type { FixedRows } from '../../../src/kernel/db/fixed-rows.ts';
import { migrate } from '../../../src/kernel/db/migrate.ts';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { assetIds, assets, chainIds } from '../../../src/money/catalogue.ts';
import { administer, useDatabase } from '../../support/database.ts';

const { db, url } = useDatabase();
const reader = `reader_${url.slice(-12)}`;
const columns = ['code', 'name', 'size'];
const shelf = (rows: FixedRows['rows']): readonly FixedRows[] => [{ table: 'shelf', columns, rows }];
const fill = (rows: FixedRows['rows']) => migrate(url, { fixedRows: shelf(rows) });

const onShelf = async () =>
  (await db.query<{ row: string }>("SELECT concat_ws(' ', code, name, size) AS row FROM shelf ORDER BY code")).rows.map(
    ({ row }) => row,
  );

beforeAll(async () => {
  await db.query('CREATE TABLE shelf (code bigint PRIMARY KEY, name text NOT NULL UNIQUE, size integer NOT NULL)');
  await administer(inject('postgresUrl'), `CREATE ROLE ${reader} LOGIN`);
});
afterAll(async () => {
  await db.query(`DROP OWNED BY ${reader}`);
  await administer(inject('postgresUrl'), `DROP ROLE ${reader}`);
});
beforeEach(async () => {
  await db.query('DELETE FROM shelf');
  await db.query("INSERT INTO shelf VALUES (1, 'tea', 6)");
});

test('the assets and chains of the ledger are those of the code', async () => {
  const known = await db.query('SELECT symbol, decimals FROM ledger.assets ORDER BY code');
  expect(known.rows).toEqual(assetIds.map((symbol) => ({ symbol, decimals: assets[symbol].decimals })));
  const chains = await db.query<{ id: string }>('SELECT id FROM ledger.chains ORDER BY code');
  expect(chains.rows.map(({ id }) => id)).toEqual(chainIds);
});

test('what is missing is added, and what only a newer release knows stays', async () => {
  await db.query("INSERT INTO shelf VALUES (9, 'mate', 3)");
  const rows = [
    [1, 'tea', 6],
    [2, 'coffee', 18],
  ];
  await fill(rows);
  await fill(rows);
  expect(await onShelf()).toEqual(['1 tea 6', '2 coffee 18', '9 mate 3']);
});

test('instances that start together add it once', async () => {
  const rows = Array.from({ length: 12 }, (_, index) => [index + 2, `tea ${index}`, index]);
  await Promise.all([fill(rows), fill(rows), fill(rows)]);
  expect(await onShelf()).toHaveLength(13);
});

test.each([
  ['a number of decimals', [1, 'tea', 18], 'code 1, name tea, size 6'],
  ['a name', [1, 'coffee', 6], 'code 1, name tea, size 6'],
  ['a code', [2, 'tea', 6], 'code 1, name tea, size 6'],
])('%s that has changed is refused, and nothing is added', async (_, row, before) => {
  await expect(fill([[5, 'cocoa', 2], row])).rejects.toThrow(
    `shelf has ${before} in this database, but this release has code ${row[0]}, name ${row[1]}, size ${row[2]}. Such rows never change:`,
  );
  expect(await onShelf()).toEqual(['1 tea 6']);
});

test('two of the same name are refused too', async () => {
  const twice = [
    [2, 'coffee', 18],
    [3, 'coffee', 18],
  ];
  await expect(fill(twice)).rejects.toThrow('this release has code 3, name coffee, size 18');
  expect(await onShelf()).toEqual(['1 tea 6']);
});

test('a service that may only read the tables is told what to run when a row is missing', async () => {
  await db.query(`GRANT USAGE ON SCHEMA ledger TO ${reader};
    GRANT SELECT ON ALL TABLES IN SCHEMA public, ledger TO ${reader}; GRANT INSERT, UPDATE ON sagas TO ${reader}`);
  const asReader = new URL(url);
  asReader.username = reader;
  const start = () => prepareDatabase(asReader.href, { features, logger: createLogger('silent') });
  await start();
  const removed = new pg.Client({ connectionString: url });
  await removed.connect();
  await removed.query("DELETE FROM ledger.chains WHERE id = 'OP'").finally(() => removed.end());
  await expect(start()).rejects.toThrow(
    'The database lacks code 6, id OP in ledger.chains: run "paywright migrate" with a role that may write there.',
  );
  await migrate(url, { fixedRows: catalogueRows });
  await start();
});

test('a table that is locked is waited for', async () => {
  const other = new pg.Client({ connectionString: url });
  await other.connect();
  await other.query('BEGIN; LOCK TABLE shelf IN ACCESS EXCLUSIVE MODE');
  const said: string[] = [];
  const say = (line: string) => {
    said.push(line);
    void other.query('ROLLBACK');
  };
  await migrate(url, { fixedRows: shelf([[2, 'cups', 4]]), lockMs: 20, say });
  await other.end();
  expect(said[0]).toContain('The check of the fixed rows waits for a session that has locked the table');
  expect(await onShelf()).toEqual(['1 tea 6', '2 cups 4']);
});
