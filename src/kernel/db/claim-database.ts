import type pg from 'pg';
import { Refusal } from '../refusal.ts';
import { tableExists, withClient } from './connection-settings.ts';
import { holdMigrationLock, usualPatience } from './migration-lock.ts';

const applicationName = 'paywright-claim';

type Mode = 'sandbox' | 'live';

/**
 * A database belongs to either a sandbox or a live service for good, because a sandbox treats every email as verified.
 * The first start on an empty database decides, before anything else is written.
 */
export async function claimDatabase(url: string, mode: Mode): Promise<void> {
  const claimed = await withClient({ url, applicationName }, async (client) => {
    const before = await readClaim(client);
    if (before !== undefined) return before;
    await holdMigrationLock(client, usualPatience);
    await createTable(client);
    const meanwhile = await readClaim(client);
    if (meanwhile === undefined) await client.query('INSERT INTO deployment (mode) VALUES ($1)', [mode]);
    return meanwhile ?? mode;
  });
  if (claimed === mode) return;
  throw new Refusal(
    `This database belongs to a ${claimed} deployment and PAYWRIGHT_MODE is ${mode}: use another database.`,
  );
}

/** Creates the table for a service role that may not create tables itself. */
export async function createClaimTable(url: string): Promise<void> {
  await withClient({ url, applicationName }, async (client) => {
    await holdMigrationLock(client, usualPatience);
    await createTable(client);
  });
}

async function createTable(client: pg.Client): Promise<void> {
  if (!(await tableExists(client, 'deployment'))) await client.query('CREATE TABLE deployment (mode text NOT NULL)');
}

async function readClaim(client: pg.Client): Promise<string | undefined> {
  if (!(await tableExists(client, 'deployment'))) return undefined;
  const { rows } = await client.query<{ mode: string }>('SELECT mode FROM deployment');
  return rows[0]?.mode;
}
