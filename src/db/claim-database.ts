import pg from 'pg';
import { Refusal } from '../refusal.ts';
import { connectionSettings, unhurried } from './connection-settings.ts';
import { migrationLock } from './migrate.ts';

/**
 * A database serves a sandbox or the real thing, and never first one and then the other: in a sandbox anybody's email
 * counts as verified. Whoever starts on an empty one decides, before anything else is written.
 */
export async function claimDatabase(url: string, mode: 'sandbox' | 'live'): Promise<void> {
  const client = new pg.Client(connectionSettings({ url, applicationName: 'paywright-claim', limits: unhurried }));
  client.on('error', () => {});
  await client.connect();
  try {
    await client.query('SELECT pg_advisory_lock($1)', [migrationLock]);
    await client.query('CREATE TABLE IF NOT EXISTS deployment (mode text NOT NULL)');
    const { rows } = await client.query<{ mode: string }>('SELECT mode FROM deployment');
    if (rows[0] === undefined) await client.query('INSERT INTO deployment (mode) VALUES ($1)', [mode]);
    else if (rows[0].mode !== mode) {
      throw new Refusal(
        `This database belongs to a ${rows[0].mode} deployment and PAYWRIGHT_MODE is ${mode}: use another one.`,
      );
    }
  } finally {
    await client.end();
  }
}
