import { withClient } from '../db/connection-settings.ts';
import type { Database, Queryable } from '../db/database.ts';
import { holdersOf, tryHoldLock } from '../db/locks.ts';
import { Refusal } from '../refusal.ts';
import { lockOfSecret } from './hold-secret.ts';
import { isBeingReplaced, listSecrets } from './open-secrets.ts';
import type { Sealed, SealedColumn } from './sealed.ts';
import { createSecrets, fingerprintOf, hashKeysOf, type SealPurpose, type Secrets, tryOpen } from './secrets.ts';

/** Rows per read. Each row is updated on its own, so no locks pile up. */
const pageSize = 500;

interface Resealing {
  readonly db: Database;
  readonly purpose: SealPurpose;
  readonly old: Secrets;
  readonly fresh: Secrets;
}

/**
 * Reseals what only the old secret opens, row by row in key order, and returns how many rows changed. It skips rows
 * that the new secret opens, so it may be interrupted and run again at any time.
 */
async function resealColumn(resealing: Resealing, place: SealedColumn): Promise<number> {
  let resealed = 0;
  for (let after: Row | undefined; ; ) {
    const rows = await readPage(resealing.db, place, after);
    for (const row of rows) if (await resealRow(resealing, place, row)) resealed++;
    after = rows.at(-1);
    if (rows.length < pageSize) return resealed;
  }
}

interface Row {
  readonly sealed: Buffer;
  /** As text, whatever its type. */
  readonly key: readonly string[];
}

async function readPage(db: Queryable, { table, key, column }: SealedColumn, after: Row | undefined): Promise<Row[]> {
  const keys = key.join(', ');
  const beyond = `(${keys}) > (${key.map((_, index) => `$${index + 1}`).join(', ')})`;
  const { rows } = await db.query<Row>(
    `SELECT ${column} AS sealed, ARRAY[${key.map((part) => `${part}::text`).join(', ')}] AS key FROM ${table}
      WHERE ${column} IS NOT NULL ${after === undefined ? '' : `AND ${beyond}`} ORDER BY ${keys} LIMIT ${pageSize}`,
    after?.key ?? [],
  );
  return rows;
}

/** Updates only if the value is unchanged: a concurrent change has already sealed it with the new secret. */
async function resealRow({ db, purpose, old, fresh }: Resealing, place: SealedColumn, row: Row): Promise<boolean> {
  const { table, key, column } = place;
  if (tryOpen(fresh, purpose, row.sealed) !== undefined) return false;
  const text = tryOpen(old, purpose, row.sealed);
  if (text === undefined) {
    throw new Refusal(
      `Neither secret opens ${table}.${column} of ${row.key.join(' ')}: it was sealed with a different secret.`,
    );
  }
  const isIt = key.map((part, index) => `${part} = $${index + 3}`).join(' AND ');
  await db.query(`UPDATE ${table} SET ${column} = $1 WHERE ${column} = $2 AND ${isIt}`, [
    fresh.seal(purpose, text),
    row.sealed,
    ...row.key,
  ]);
  return true;
}

export interface RotateOptions {
  readonly db: Database;
  readonly url: string;
  readonly old: string;
  readonly fresh: string;
  readonly sealed: readonly Sealed[];
  readonly say: (line: string) => void;
}

/**
 * Replaces a secret while the service runs. All processes must already seal with the new secret and still know the old
 * one. It may be interrupted and run again. Afterwards the new secret alone is enough.
 */
export async function rotateSecret({ db, url, old, fresh, sealed, say }: RotateOptions): Promise<void> {
  if (old === fresh) throw new Refusal('PAYWRIGHT_SECRET and PAYWRIGHT_SECRET_OLD are the same secret.');
  await withClient({ url, applicationName: 'paywright-rotate' }, async (session) => {
    // Until the end, no process can start sealing with the old secret.
    if (!(await tryHoldLock(session, lockOfSecret(fingerprintOf(old))))) throw await describeUsers(db, old);
    await retire(db, { old, fresh });
    const secrets = { old: createSecrets(old), fresh: createSecrets(fresh) };
    for (let resealed = 1; resealed > 0; ) {
      // Repeats until nothing is left: a process that ended with the old secret may have committed at the last moment.
      resealed = 0;
      for (const { purpose, columns } of sealed) {
        let rows = 0;
        for (const column of columns) rows += await resealColumn({ db, purpose, ...secrets }, column);
        if (rows > 0) say(`${purpose}: ${rows} sealed with the new secret.`);
        resealed += rows;
      }
    }
    await db.query(
      'UPDATE operator_secrets SET resealed_at = coalesce(resealed_at, clock_timestamp()) WHERE fingerprint = $1',
      [fingerprintOf(old)],
    );
  });
}

async function describeUsers(db: Database, old: string): Promise<Refusal> {
  const { length } = await holdersOf(db, lockOfSecret(fingerprintOf(old)));
  return new Refusal(
    `${length === 1 ? 'One process still seals' : `${length} processes still seal`} with the old secret, or another rotation is running. Start every process with PAYWRIGHT_SECRET (new) and PAYWRIGHT_SECRET_OLD, then run this again.`,
  );
}

/** In one commit the new secret becomes the one in use, and the old one remains only to recognise its hashes. */
async function retire(db: Database, { old, fresh }: { readonly old: string; readonly fresh: string }): Promise<void> {
  const hashKeys = createSecrets(fresh).seal('hash-keys', JSON.stringify(hashKeysOf(old)));
  await db.transaction(async (tx) => {
    await tx.query('LOCK TABLE operator_secrets IN SHARE ROW EXCLUSIVE MODE');
    const known = await listSecrets(tx);
    const find = (secret: string) => known.find(({ fingerprint }) => fingerprintOf(secret).equals(fingerprint));
    if (find(fresh)?.retiredAt != null)
      throw new Refusal(
        'PAYWRIGHT_SECRET was used before and was replaced: generate a new one with "paywright secret".',
      );
    if (known.some((secret) => isBeingReplaced(secret) && !fingerprintOf(old).equals(secret.fingerprint))) {
      throw new Refusal(
        'The previous rotation, to PAYWRIGHT_SECRET_OLD, is not complete: finish it first, then run this again.',
      );
    }
    const before = find(old);
    // The rotation was already begun.
    if (before?.retiredAt != null && find(fresh) !== undefined) return;
    if (before === undefined || before.retiredAt !== null) {
      throw new Refusal('PAYWRIGHT_SECRET_OLD is not the secret that this database is sealed with.');
    }
    await tx.query(
      'UPDATE operator_secrets SET retired_at = clock_timestamp(), sealed_hash_keys = $2 WHERE fingerprint = $1',
      [fingerprintOf(old), hashKeys],
    );
    await tx.query('INSERT INTO operator_secrets (fingerprint) VALUES ($1)', [fingerprintOf(fresh)]);
  });
}
