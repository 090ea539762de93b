import { expect, test } from 'vitest';
import { claimDatabase } from '../../../src/kernel/db/claim-database.ts';
import { migrate } from '../../../src/kernel/db/migrate.ts';
import { useDatabase } from '../../support/database.ts';

const { db, url } = useDatabase();

test('a live database stays live and is not touched by a sandbox', async () => {
  await claimDatabase(url, 'live');
  await claimDatabase(url, 'live');
  await expect(claimDatabase(url, 'sandbox')).rejects.toThrow(
    'This database belongs to a live deployment and PAYWRIGHT_MODE is sandbox: use another database.',
  );
  await claimDatabase(url, 'live');
});

test('a database of another release is refused', async () => {
  await db.query("UPDATE schema_migrations SET checksum = 'x' WHERE version = 1");
  await expect(migrate(url)).rejects.toThrow(
    'Migration 001_kernel.sql differs from the one that this database was created with.',
  );
  await db.query("INSERT INTO schema_migrations (version, name, checksum, serves_from) VALUES (999, 'later', '', 999)");
  await db.query(
    'UPDATE schema_migrations SET checksum = (SELECT checksum FROM schema_migrations WHERE version = 1) WHERE version = 1',
  );
  await expect(migrate(url)).rejects.toThrow(/Migration 001|which this release does not know/);
});

test('two instances that start together migrate once', async () => {
  await db.query('DELETE FROM schema_migrations');
  for (const sql of ['DROP SCHEMA public CASCADE', 'CREATE SCHEMA public', 'DROP SCHEMA IF EXISTS ledger CASCADE']) {
    await db.query(sql);
  }
  const results = await Promise.all([migrate(url), migrate(url), migrate(url)]);
  expect(results.filter(({ applied }) => applied.length > 0)).toHaveLength(1);
});
