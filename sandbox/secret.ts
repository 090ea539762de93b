import { randomBytes } from 'node:crypto';
import { type Database, onlyRow } from '../src/kernel/db/database.ts';
import { lockUntilCommit } from '../src/kernel/db/locks.ts';

/**
 * The sandbox's secret is kept in its database, so that all instances share it. It protects nothing, and a sandbox has nothing to
 * protect.
 */
export async function sandboxSecret(db: Database): Promise<string> {
  await createSecretTable(db);
  return db.transaction(async (tx) => {
    await lockUntilCommit(tx, 'sandboxSecret');
    const { rows } = await tx.query<{ secret: string }>('SELECT secret FROM sandbox.secret');
    if (rows[0] !== undefined) return rows[0].secret;
    const fresh = randomBytes(32).toString('hex');
    return onlyRow(
      await tx.query<{ secret: string }>('INSERT INTO sandbox.secret (secret) VALUES ($1) RETURNING secret', [fresh]),
    ).secret;
  });
}

/** If the table exists, no CREATE privilege is needed. */
export async function createSecretTable(db: Database): Promise<void> {
  await db.transaction(async (tx) => {
    await lockUntilCommit(tx, 'sandboxSecret');
    const { rows } = await tx.query("SELECT WHERE to_regclass('sandbox.secret') IS NOT NULL");
    if (rows.length > 0) return;
    await tx.query('CREATE SCHEMA IF NOT EXISTS sandbox');
    await tx.query('CREATE TABLE sandbox.secret (secret text NOT NULL)');
  });
}
