import { randomBytes } from 'node:crypto';
import { type Database, onlyRow } from '../src/kernel/db/database.ts';
import { lockUntilCommit } from '../src/kernel/db/locks.ts';

/**
 * The sandbox makes its own secret and keeps it with its data, so that any number of instances on one database share
 * it. That protects nothing, and a sandbox has nothing to protect.
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

/** Where it is there nothing is asked for, because who starts a sandbox need not be allowed to create anything. */
export async function createSecretTable(db: Database): Promise<void> {
  await db.transaction(async (tx) => {
    await lockUntilCommit(tx, 'sandboxSecret');
    const { rows } = await tx.query("SELECT WHERE to_regclass('sandbox.secret') IS NOT NULL");
    if (rows.length > 0) return;
    await tx.query('CREATE SCHEMA IF NOT EXISTS sandbox');
    await tx.query('CREATE TABLE sandbox.secret (secret text NOT NULL)');
  });
}
