import type { Database, Queryable } from '../db/database.ts';
import type { Logger } from '../log/logger.ts';
import { Refusal } from '../refusal.ts';
import { holdSecret } from './hold-secret.ts';
import type { Sealed } from './sealed.ts';
import { createSecrets, fingerprintOf, type HashKeys, type Secrets, tryOpen } from './secrets.ts';

interface KnownSecret {
  readonly fingerprint: Buffer;
  readonly retiredAt: Date | null;
  readonly resealedAt: Date | null;
  readonly sealedHashKeys: Buffer | null;
}

/** Whether data may remain that only this secret can open. */
export function isBeingReplaced({ retiredAt, resealedAt }: KnownSecret): boolean {
  return retiredAt !== null && resealedAt === null;
}

/** Newest first. */
export async function listSecrets(db: Queryable): Promise<readonly KnownSecret[]> {
  const { rows } = await db.query<KnownSecret>(
    `SELECT fingerprint, retired_at, resealed_at, sealed_hash_keys FROM operator_secrets
      ORDER BY retired_at DESC NULLS FIRST`,
  );
  return rows;
}

/** The operator's secrets. New data is sealed with `current`; all of them can open existing data. */
export interface GivenSecrets {
  readonly current: string;
  /** The secret that will replace `current`. */
  readonly next?: string;
  /** The secret that `current` replaces. */
  readonly old?: string;
}

export interface OpenSecretsOptions {
  readonly db: Database;
  readonly url: string;
  readonly logger: Logger;
  readonly given: GivenSecrets;
  readonly sealed: readonly Sealed[];
}

export interface OpenedSecrets {
  readonly secrets: Secrets;
  /** From here on this process seals nothing. */
  close(): Promise<void>;
}

/**
 * For a process that seals: until it is closed, its secret cannot be retired. Refuses a secret that does not belong to
 * this database before anything is written.
 */
export async function openSecrets({ db, url, logger, given, sealed }: OpenSecretsOptions): Promise<OpenedSecrets> {
  const held = await holdSecret({ url, logger, fingerprint: fingerprintOf(given.current) });
  try {
    const others = othersOf(given);
    const known = await listSecrets(db);
    if (known.length === 0) await recordFirst(db, given, sealed);
    else refuseWrong(known, given);
    const bare = createSecrets(given.current, { others });
    const former = known.flatMap(({ sealedHashKeys }) =>
      sealedHashKeys === null ? [] : [JSON.parse(bare.open('hash-keys', sealedHashKeys)) as Partial<HashKeys>],
    );
    const secrets = createSecrets(given.current, { others, former });
    return {
      secrets: {
        ...secrets,
        seal(purpose, text) {
          if (held.retired) throw new Error('the secret of this process was replaced: restart it with the new secret');
          return secrets.seal(purpose, text);
        },
      },
      close: () => held.close(),
    };
  } catch (error) {
    await held.close();
    throw error;
  }
}

function othersOf({ next, old }: GivenSecrets): readonly string[] {
  return [next, old].filter((secret) => secret !== undefined);
}

function refuseWrong(known: readonly KnownSecret[], given: GivenSecrets): void {
  const isGiven = ({ fingerprint }: KnownSecret) =>
    [given.current, ...othersOf(given)].some((secret) => fingerprintOf(secret).equals(fingerprint));
  const retired = known.find(
    ({ fingerprint, retiredAt }) => retiredAt !== null && fingerprintOf(given.current).equals(fingerprint),
  );
  if (retired !== undefined) {
    throw new Refusal(`PAYWRIGHT_SECRET was replaced on ${retired.retiredAt?.toISOString()}: use the new secret.`);
  }
  const inUse = known.find(({ retiredAt }) => retiredAt === null);
  if (inUse !== undefined && !isGiven(inUse)) throw wrongSecret();
  if (known.some((secret) => isBeingReplaced(secret) && !isGiven(secret))) {
    throw new Refusal(
      'The rotation to the new secret is not complete: set PAYWRIGHT_SECRET_OLD to the previous secret and run "paywright rotate-secret" again.',
    );
  }
}

function wrongSecret(): Refusal {
  return new Refusal(
    'PAYWRIGHT_SECRET is not the secret of this database. To replace the secret, set PAYWRIGHT_SECRET_OLD to the previous one.',
  );
}

/** A database from before secrets were recorded shows by its sealed data whether this is its secret. */
async function recordFirst(db: Queryable, given: GivenSecrets, sealed: readonly Sealed[]): Promise<void> {
  const secrets = createSecrets(given.current, { others: othersOf(given) });
  for (const { purpose, columns } of sealed) {
    for (const { table, column } of columns) {
      const { rows } = await db.query<{ sealed: Buffer }>(
        `SELECT ${column} AS sealed FROM ${table} WHERE ${column} IS NOT NULL LIMIT 1`,
      );
      if (rows.some(({ sealed: one }) => tryOpen(secrets, purpose, one) === undefined)) throw wrongSecret();
    }
  }
  const standing = fingerprintOf(given.old ?? given.current);
  await db.query('INSERT INTO operator_secrets (fingerprint) VALUES ($1) ON CONFLICT DO NOTHING', [standing]);
  // Another process may have recorded a different secret first.
  refuseWrong(await listSecrets(db), given);
}
