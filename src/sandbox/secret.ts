import { randomBytes } from 'node:crypto';
import { type Database, onlyRow } from '../db/database.ts';
import { lockUntilCommit } from '../db/locks.ts';

/**
 * The sandbox makes its own secret and keeps it with its data, so that any number of instances on one database share
 * it. That protects nothing, and a sandbox has nothing to protect.
 */
export async function sandboxSecret(db: Database): Promise<string> {
  return db.transaction(async (tx) => {
    await lockUntilCommit(tx, 'sandboxSecret');
    await tx.query('CREATE SCHEMA IF NOT EXISTS sandbox');
    await tx.query('CREATE TABLE IF NOT EXISTS sandbox.secret (secret text NOT NULL)');
    const { rows } = await tx.query<{ secret: string }>('SELECT secret FROM sandbox.secret');
    if (rows[0] !== undefined) return rows[0].secret;
    const fresh = randomBytes(32).toString('hex');
    return onlyRow(
      await tx.query<{ secret: string }>('INSERT INTO sandbox.secret (secret) VALUES ($1) RETURNING secret', [fresh]),
    ).secret;
  });
}
