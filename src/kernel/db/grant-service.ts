import type pg from 'pg';
import { Refusal } from '../refusal.ts';
import { type ConnectionOptions, inTransaction, withClient } from './connection-settings.ts';
import { type MigrationPatience, retryLockTimeouts, usualPatience } from './migration-lock.ts';

const everything = ['SELECT', 'INSERT', 'UPDATE', 'DELETE'];

/** The only privileges of the service role when another role owns the tables. */
function privilegesOn(schema: string, table: string): readonly string[] {
  // An unlisted table in the ledger schema may be the operator's own, such as the old table after partitioning.
  return exceptions[`${schema}.${table}`] ?? (schema === 'ledger' ? ['SELECT'] : everything);
}

const exceptions: Readonly<Record<string, readonly string[]>> = {
  // Postings are append-only.
  'ledger.postings': ['SELECT', 'INSERT'],
  'ledger.posting_references': ['SELECT', 'INSERT'],
  'ledger.entry_rows': ['SELECT', 'INSERT'],
  'ledger.accounts': ['SELECT', 'INSERT', 'UPDATE (balance, posted_at)'],
  'ledger.assets': ['SELECT'],
  'ledger.chains': ['SELECT'],
  'ledger.kinds': ['SELECT'],
  'ledger.idempotency_keys': everything,
  'ledger.event_subscriptions': everything,
  'ledger.event_feeds': everything,
  'ledger.events': everything,
  'ledger.budgets': ['SELECT', 'INSERT', 'UPDATE (most, on_exceed, is_active, nos, sums, told)'],
  'ledger.budget_counts': ['SELECT', 'INSERT', 'UPDATE (most, bucket, bucket_until, spent, in_bucket)'],
  'ledger.spendings': ['SELECT', 'INSERT'],
  'ledger.spending_returns': ['SELECT', 'INSERT'],
  'ledger.guarded_payers': ['SELECT', 'INSERT'],
  'ledger.guarded_payments': ['SELECT', 'INSERT', 'DELETE'],
  'public.audit_log': ['SELECT', 'INSERT'],
  // Decision records are append-only, and leave the waiting table only for the chain.
  'public.decisions_waiting': ['SELECT', 'INSERT', 'DELETE'],
  'public.decision_templates': ['SELECT', 'INSERT'],
  'public.policy_decisions': ['SELECT', 'INSERT'],
  'public.decision_roots': ['SELECT', 'INSERT'],
  'public.decision_seals': ['SELECT', 'INSERT'],
  'public.schema_migrations': ['SELECT'],
  // The service may claim an empty database, but never change the claim.
  'public.deployment': ['SELECT', 'INSERT'],
};

const schemas = ['public', 'ledger', 'graphile_worker', 'sandbox'];

export interface ServiceOptions {
  /** Connects as the role that owns the tables. */
  readonly ownerUrl: string;
  /** Connects as the role that the service uses. */
  readonly serviceUrl: string;
}

/** Refuses a service role that is as powerful as the owner, because separate roles would then protect nothing. */
export async function findServiceRole({ ownerUrl, serviceUrl }: ServiceOptions): Promise<string> {
  const service = await withClient(granting(serviceUrl), readRole);
  return withClient(granting(ownerUrl), async (client) => {
    const owner = await readRole(client);
    if (owner.database !== service.database) {
      throw new Refusal('MIGRATION_DATABASE_URL and DATABASE_URL name different databases.');
    }
    await refuseOwner(client, service.role);
    return service.role;
  });
}

/**
 * Grants the service role exactly the privileges it needs and revokes all others. It owns no table, so it cannot
 * disable a trigger that guards the ledger or grant itself a privilege.
 */
export async function grantService(ownerUrl: string, role: string, patience: MigrationPatience): Promise<void> {
  const grants = { what: 'Granting privileges to the service role', whom: () => 'a session that uses the tables' };
  await withClient(granting(ownerUrl, patience), (client) =>
    retryLockTimeouts(patience, grants, () => grantAll(client, role)),
  );
}

interface Role {
  readonly role: string;
  readonly database: string;
}

async function readRole(client: pg.Client): Promise<Role> {
  const { rows } = await client.query<Role>('SELECT current_user AS role, current_database() AS database');
  return rows[0] as Role;
}

async function refuseOwner(client: pg.Client, role: string): Promise<void> {
  const { rows } = await client.query<{ owner: boolean }>(
    `SELECT service.rolsuper OR service.rolbypassrls OR pg_has_role(service.oid, owner.oid, 'MEMBER')
            -- The owner of the database or of a schema can drop and create everything in it.
            OR pg_has_role(service.oid, (SELECT datdba FROM pg_database WHERE datname = current_database()), 'MEMBER')
            OR EXISTS (SELECT FROM pg_namespace WHERE nspname = ANY ($2) AND pg_has_role(service.oid, nspowner, 'MEMBER'))
            AS owner
       FROM pg_roles service, pg_roles owner WHERE service.rolname = $1 AND owner.rolname = current_user`,
    [role, schemas],
  );
  if (rows[0]?.owner !== false) {
    throw new Refusal(
      `The role ${role} in DATABASE_URL is as powerful as the role in MIGRATION_DATABASE_URL: give the service its own role that is not a superuser, not a member of the other role, and owns neither the database nor a schema in it.`,
    );
  }
}

async function grantAll(client: pg.Client, role: string): Promise<void> {
  const to = client.escapeIdentifier(role);
  await inTransaction(client, async () => {
    for (const { schema, table, kind, isPartition, guarded } of await listOwned(client)) {
      const name = `${client.escapeIdentifier(schema)}.${client.escapeIdentifier(table)}`;
      const type = kind === 'S' ? 'SEQUENCE' : 'TABLE';
      const privileges = kind === 'S' ? ['USAGE'] : privilegesOn(schema, table);
      await client.query(`REVOKE ALL ON ${type} ${name} FROM ${to}`);
      // The service reaches a partition through its table and needs no privilege on the partition itself.
      if (isPartition) continue;
      await client.query(`GRANT ${privileges.join(', ')} ON ${type} ${name} TO ${to}`);
      if (guarded) await letSeeRows(client, name, role);
    }
    for (const schema of await listSchemas(client)) {
      await client.query(`REVOKE ALL ON SCHEMA ${schema} FROM ${to}`);
      await client.query(`GRANT USAGE ON SCHEMA ${schema} TO ${to}`);
    }
  });
}

interface Owned {
  readonly schema: string;
  readonly table: string;
  readonly kind: string;
  readonly isPartition: boolean;
  /** Whether row-level security hides its rows from all roles but the owner, as on the job tables. */
  readonly guarded: boolean;
}

async function listOwned(client: pg.Client): Promise<readonly Owned[]> {
  const { rows } = await client.query<Owned>(
    `SELECT n.nspname AS schema, c.relname AS table, c.relkind AS kind,
            c.relispartition AS "isPartition", c.relrowsecurity AS guarded
       FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = ANY ($1) AND c.relkind IN ('r', 'p', 'v', 'S') AND pg_has_role(c.relowner, 'USAGE')
      ORDER BY 1, 2`,
    [schemas],
  );
  return rows;
}

async function listSchemas(client: pg.Client): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string }>(
    'SELECT nspname AS name FROM pg_namespace WHERE nspname = ANY ($1)',
    [schemas],
  );
  return rows.map(({ name }) => client.escapeIdentifier(name));
}

/** The policy is named after the role. It is created only once, because CREATE POLICY locks the table. */
async function letSeeRows(client: pg.Client, table: string, role: string): Promise<void> {
  const { rows } = await client.query('SELECT FROM pg_policy WHERE polrelid = $1::regclass AND polname = $2', [
    table,
    role,
  ]);
  if (rows.length > 0) return;
  const to = client.escapeIdentifier(role);
  await client.query(`CREATE POLICY ${to} ON ${table} TO ${to} USING (true) WITH CHECK (true)`);
}

function granting(url: string, { lockMs }: MigrationPatience = usualPatience): ConnectionOptions {
  return { url, applicationName: 'paywright-grant', limits: { lockMs } };
}
