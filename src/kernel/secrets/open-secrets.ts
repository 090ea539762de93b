import type { Database, Queryable } from '../db/database.ts';
import type { Logger } from '../log/logger.ts';
import { Refusal } from '../refusal.ts';
import { holdSecret } from './hold-secret.ts';
import { isBeingReplaced, type KnownSecret, listSecrets } from './known-secrets.ts';
import type { Sealed } from './sealed.ts';
import { createSecrets, fingerprintOf, type HashKeys, type Secrets } from './secrets.ts';

/** The secrets that the operator has given. Everything new is sealed with the first; what the others sealed can be opened. */
export interface GivenSecrets {
  readonly current: string;
  /** The one that will take its place. */
  readonly next?: string;
  /** The one whose place it takes. */
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
  /** From here on this process seals nothing any more. */
  close(): Promise<void>;
}

/**
 * For a process that seals: until it is closed nobody can retire its secret. A secret that is not this database's is refused here, in
 * words, before anything is written with it.
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
          if (held.retired)
            throw new Error('the secret of this process was replaced, and it was not started again since');
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
    throw new Refusal(
      `PAYWRIGHT_SECRET was replaced by another one on ${retired.retiredAt?.toISOString()}: give the one that took its place.`,
    );
  }
  const inUse = known.find(({ retiredAt }) => retiredAt === null);
  if (inUse !== undefined && !isGiven(inUse)) throw wrongSecret();
  if (known.some((secret) => isBeingReplaced(secret) && !isGiven(secret))) {
    throw new Refusal(
      'Not everything is sealed with the new secret yet: give the one from before as PAYWRIGHT_SECRET_OLD, and run "paywright rotate-secret" to the end.',
    );
  }
}

function wrongSecret(): Refusal {
  return new Refusal(
    'PAYWRIGHT_SECRET is not the one that this database was sealed with. To replace that one, give it as PAYWRIGHT_SECRET_OLD.',
  );
}

/** A database of before secrets were written down tells by what it holds whether this is its secret. */
async function recordFirst(db: Queryable, given: GivenSecrets, sealed: readonly Sealed[]): Promise<void> {
  const secrets = createSecrets(given.current, { others: othersOf(given) });
  for (const { purpose, columns } of sealed) {
    for (const { table, column } of columns) {
      const { rows } = await db.query<{ sealed: Buffer }>(
        `SELECT ${column} AS sealed FROM ${table} WHERE ${column} IS NOT NULL LIMIT 1`,
      );
      if (rows[0] !== undefined && !opens(() => secrets.open(purpose, (rows[0] as { sealed: Buffer }).sealed))) {
        throw wrongSecret();
      }
    }
  }
  const standing = given.old ?? given.current;
  await db.query('INSERT INTO operator_secrets (fingerprint) VALUES ($1) ON CONFLICT DO NOTHING', [
    fingerprintOf(standing),
  ]);
  // Another process may have been faster, with another secret.
  refuseWrong(await listSecrets(db), given);
}

function opens(open: () => unknown): boolean {
  try {
    open();
    return true;
  } catch {
    return false;
  }
}
