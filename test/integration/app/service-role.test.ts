import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { migrateDatabase } from '../../../src/app/database.ts';
import { features } from '../../../src/app/features.ts';
import { readSettings } from '../../../src/app/read-settings.ts';
import { openDatabase } from '../../../src/kernel/db/database.ts';
import { usualPatience } from '../../../src/kernel/db/migration-lock.ts';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { archiveMonth } from '../../../src/ledger/archive/archive-month.ts';
import { verifyLedger } from '../../../src/ledger/verify.ts';
import { exercise } from '../../support/exercise.ts';
import { endMonth } from '../../support/months.ts';
import { startReceiver } from '../../support/receiver.ts';
import { type Service, startService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const adminUrl = inject('postgresUrl');
const mark = randomBytes(5).toString('hex');
const [owner, service, database] = [`owner ${mark}`, `service ${mark}`, `roles_${mark}`];
const logger = createLogger('silent');
const receiver = await startReceiver();

function urlOf(role: string): string {
  const url = new URL(adminUrl);
  url.username = encodeURIComponent(role);
  url.password = 'x';
  url.pathname = `/${database}`;
  return url.href;
}

async function as<Result>(url: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return work(client).finally(() => client.end());
}

const migrateAs = (url: string, env: Readonly<Record<string, string>>, said: string[] = []) =>
  migrateDatabase({
    config: readSettings({ DATABASE_URL: url, DATA_DIR: inject('dataDir'), ...env }),
    url,
    features,
    logger,
    say: (line) => said.push(line),
  });

beforeAll(async () => {
  await as(adminUrl, async (admin) => {
    // Both have what a managed PostgreSQL gives: no extension, and no role that may do everything.
    const nothing = 'NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS';
    await admin.query(`CREATE ROLE "${owner}" LOGIN PASSWORD 'x' ${nothing}`);
    await admin.query(`CREATE ROLE "${service}" LOGIN PASSWORD 'x' ${nothing}`);
    await admin.query(`CREATE DATABASE ${database} OWNER "${owner}"`);
  });
});
afterAll(async () => {
  await as(adminUrl, async (admin) => {
    await admin.query(`DROP DATABASE ${database} WITH (FORCE)`);
    await admin.query(`DROP ROLE "${owner}", "${service}"`);
  });
});

describe('a service whose role owns nothing', () => {
  const running: Service[] = [];
  afterAll(() => Promise.all(running.map((each) => each.stop())));

  test('does not start on what it may not build, and says what to run', async () => {
    await expect(startService({ url: urlOf(service) })).rejects.toMatchObject({ code: '42501' });
    await migrateAs(urlOf(owner), {});
    const newest = await as(urlOf(owner), async (client) => {
      await client.query('CREATE TABLE deployment (mode text NOT NULL)');
      await client.query(`GRANT SELECT, INSERT ON deployment, schema_migrations TO "${service}"`);
      const { rows } = await client.query<{ version: number; name: string; checksum: string }>(
        `DELETE FROM schema_migrations WHERE version = (SELECT max(version) FROM schema_migrations)
         RETURNING version, name, checksum`,
      );
      return rows[0];
    });
    await expect(startService({ url: urlOf(service) })).rejects.toThrow(
      `The database lacks ${newest?.name}, and the role in DATABASE_URL may not apply them: run "paywright migrate" with MIGRATION_DATABASE_URL first.`,
    );
    await as(urlOf(owner), (client) =>
      client.query('INSERT INTO schema_migrations (version, name, checksum, serves_from) VALUES ($1, $2, $3, $1)', [
        newest?.version,
        newest?.name,
        newest?.checksum,
      ]),
    );
  });

  test('is not given to a role that could do everything anyway', async () => {
    await expect(migrateAs(urlOf(owner), { MIGRATION_DATABASE_URL: `${urlOf(owner)}?x=1` })).rejects.toThrow(
      'give the service its own role',
    );
  });

  test('is not given to a role that could drop everything and make more', async () => {
    const asAdmin = (sql: string) => as(adminUrl.replace(/\/[^/]+$/, `/${database}`), (admin) => admin.query(sql));
    const give = (what: string, to: string) => asAdmin(`ALTER ${what} OWNER TO "${to}"`);
    for (const what of [`DATABASE ${database}`, 'SCHEMA ledger']) {
      await give(what, service);
      await asAdmin(
        `GRANT CREATE ON DATABASE ${database} TO "${owner}"; GRANT ALL ON SCHEMA public, ledger TO "${owner}"`,
      );
      const migrated = migrateAs(urlOf(service), { MIGRATION_DATABASE_URL: urlOf(owner) });
      await expect(migrated).rejects.toThrow('owns neither the database nor a schema in it');
      await give(what, owner);
    }
  });

  test('runs, and does everything that PostgreSQL has a part in', async () => {
    const said: string[] = [];
    await migrateAs(urlOf(service), { MIGRATION_DATABASE_URL: urlOf(owner) }, said);
    expect(said).toEqual(['The database is up to date.', `Granted ${service} its privileges; it owns no table.`]);
    // Again, as with every release.
    await migrateAs(urlOf(service), { MIGRATION_DATABASE_URL: urlOf(owner) });

    const env = { ALLOW_PRIVATE_HOSTS: receiver.host };
    running.push(await startService({ url: urlOf(service) }, { env }));
    running.push(await startService({ url: urlOf(service) }, { env }));
    const [one, two] = running as [Service, Service];
    const db = openDatabase({ url: urlOf(service), poolSize: 2, logger });
    await exercise({ db, one, two, receiver }).finally(() => db.close());
    const { rows } = await as(urlOf(service), (own) =>
      own.query('SELECT FROM pg_class c JOIN pg_roles r ON r.oid = c.relowner WHERE r.rolname = current_user'),
    );
    expect(rows).toEqual([]);
  });

  test('has no extension, and nothing that the owner does not own', async () => {
    const { rows } = await as(urlOf(owner), (client) =>
      client.query(
        `SELECT extname AS name FROM pg_extension WHERE extname <> 'plpgsql'
         UNION ALL SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                    WHERE n.nspname IN ('public', 'ledger', 'graphile_worker', 'sandbox')
                      AND c.relowner <> (SELECT oid FROM pg_roles WHERE rolname = current_user)`,
      ),
    );
    expect(rows).toEqual([]);
  });

  test.each([
    'DELETE FROM ledger.entry_rows',
    'UPDATE ledger.entry_rows SET amount = 0',
    'TRUNCATE ledger.entry_rows',
    'DELETE FROM ledger.postings',
    'DELETE FROM ledger.postings_first',
    'DELETE FROM ledger.months',
    'UPDATE ledger.postings SET amount = 0',
    'TRUNCATE ledger.postings',
    'UPDATE ledger.accounts SET owner_id = NULL',
    'DELETE FROM ledger.accounts',
    'TRUNCATE ledger.accounts CASCADE',
    "INSERT INTO ledger.kinds (code, name) VALUES (40, 'x')",
    'ALTER TABLE ledger.entry_rows DISABLE TRIGGER append_only',
    'ALTER TABLE ledger.entry_rows DISABLE TRIGGER ALL',
    'CREATE TRIGGER mine BEFORE INSERT ON ledger.entry_rows EXECUTE FUNCTION ledger.refuse_change()',
    'DROP TABLE ledger.entry_rows',
    'CREATE OR REPLACE FUNCTION ledger.new_id(at timestamptz) RETURNS uuid LANGUAGE sql RETURN gen_random_uuid()',
    "SET session_replication_role = 'replica'",
    'DELETE FROM schema_migrations',
    "UPDATE deployment SET mode = 'live'",
    'TRUNCATE accounts CASCADE',
    'CREATE TABLE public.mine ()',
    'CREATE TABLE ledger.mine ()',
    `GRANT ALL ON ledger.entry_rows TO "${service}"; DELETE FROM ledger.entry_rows`,
  ])('the database refuses to it: %s', async (sql) => {
    await expect(as(urlOf(service), (client) => client.query(sql))).rejects.toMatchObject({
      code: '42501',
    });
  });

  test('its ledger is archived by the owner', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'archive-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const db = openDatabase({ url: urlOf(owner), poolSize: 2, logger });
    onTestFinished(() => db.close());
    const month = await db.query<{ name: string }>('SELECT name FROM ledger.months ORDER BY from_at LIMIT 1');
    await until('the events', async () => (await db.query('SELECT FROM ledger.events LIMIT 1')).rows.length === 0);
    await endMonth(db, 'later');
    const options = { url: urlOf(owner), db, needs: async () => [], patience: usualPatience, restMs: 0 };
    const name = month.rows[0]?.name ?? '';
    const { postings } = await archiveMonth(options, { name, file: join(folder, 'month.jsonl.gz') });
    expect(postings).toBeGreaterThan(0);
    expect((await verifyLedger(db)).problems).toEqual([]);
    const refused = archiveMonth({ ...options, url: urlOf(service) }, { name, file: join(folder, 'again.jsonl.gz') });
    await expect(refused).rejects.toThrow('Only the role that owns the tables can archive a month');
  });
});
