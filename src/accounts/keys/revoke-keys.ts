import type { Database, Transaction } from '../../kernel/db/database.ts';
import { lockOwner } from '../../ledger/require-live-key.ts';
import { recordKeysRevoked } from '../account-events.ts';
import { type Actor, admit } from '../actor.ts';
import { type AuditActor, recordAudit } from '../audit/record.ts';
import { accountErrors } from '../errors.ts';
import type { AccountParts } from '../parts.ts';
import { endAllSessions } from '../sessions/owner-session.ts';
import { isWorking, workingTimes } from './key-lifetime.ts';
import type { EndedKeys, OnKeysEnded, WebhookOfKey } from './on-keys-ended.ts';

/** The most keys that one statement revokes, because payments to the owner wait for it. */
const fewEnough = 5_000;

interface MostKeys {
  readonly accountId: bigint;
  readonly by: AuditActor;
  /** A key that the caller still needs, with the keys above it. */
  readonly except?: string;
}

/**
 * Revokes all but the last few keys of an account with very many, and returns how many. A thief can create hundreds of
 * thousands; revoking them in one statement would exceed the statement timeout, and the takeover could not be ended.
 * `revokeAllKeys` revokes the rest. If interrupted, revoked keys stay revoked. Children come before their parents, so an
 * interruption never leaves a working key below a revoked one.
 */
export async function revokeMostKeys(db: Database, { accountId, by, except }: MostKeys): Promise<number> {
  const { rows } = await db.query<{ id: string }>(
    `SELECT id FROM api_keys
      WHERE account_id = $1 AND revoked_at IS NULL
        AND NOT place = ANY (coalesce((SELECT path FROM api_keys WHERE id = $2), '{}'))
      ORDER BY cardinality(path) DESC, id`,
    [accountId, except ?? null],
  );
  let ended = 0;
  for (let first = 0; first + fewEnough < rows.length; first += fewEnough) {
    const ids = rows.slice(first, first + fewEnough).map(({ id }) => id);
    ended += await db.transaction(async (tx) => {
      const { rows: now } = await tx.query<{ id: string }>(
        'UPDATE api_keys SET revoked_at = now() WHERE id = ANY ($1) AND revoked_at IS NULL RETURNING id',
        [ids],
      );
      const keys = now.length;
      await recordAudit(tx, { accountId, action: 'keys.revoked', by, details: { keys, webhooks: [] } });
      if (keys > 0) await recordKeysRevoked(tx, accountId, { keys: now.map(({ id }) => id), all: false, by });
      return keys;
    });
  }
  return ended;
}

export interface KeyRevocation extends Omit<EndedKeys, 'keys'> {
  readonly key: string;
  readonly by: AuditActor;
}

type RevocationParts = Pick<AccountParts, 'onKeysEnded' | 'clock' | 'idleMs'>;

interface AskedRevocation extends Pick<KeyRevocation, 'key' | 'webhooks'> {
  readonly actor: Actor;
}

/** Returns the webhooks of the key and the keys below it. A frozen key can revoke itself, and no other. */
export function revokeKeyEverywhere(
  parts: RevocationParts & Pick<AccountParts, 'changes'>,
  { actor, key, webhooks }: AskedRevocation,
): Promise<WebhookOfKey[]> {
  const { accountId } = actor;
  return parts.changes.everywhere(accountId, async (tx) => {
    await lockOwner(tx, accountId);
    const isItself = 'keyId' in actor && actor.keyId === key;
    if (!isItself) await admit(tx, actor);
    return revokeKey(tx, parts, { accountId, key, webhooks, by: actor });
  });
}

/**
 * Revokes a key and all keys below it, unless another working key holds its place: during the overlap of a rotation, only
 * the named key ends. From the commit on nothing is posted under revoked keys; wallets and funds are untouched. Revoking
 * again is allowed, so that their webhooks can still be listed or ended.
 */
export async function revokeKey(
  tx: Transaction,
  parts: RevocationParts,
  { accountId, key, webhooks, by }: KeyRevocation,
): Promise<WebhookOfKey[]> {
  await lockOwner(tx, accountId);
  const { rows } = await tx.query<{ isNews: boolean; place: string }>(
    `UPDATE api_keys k SET revoked_at = coalesce(k.revoked_at, now())
       FROM api_keys before WHERE before.id = k.id AND k.id = $1 AND k.account_id = $2
     RETURNING before.revoked_at IS NULL AS is_news, k.place`,
    [key, accountId],
  );
  const [row] = rows;
  if (row === undefined) throw accountErrors.key_not_found();
  const below = await revokeBelow(tx, parts, { accountId, place: row.place });
  const news = [...(row.isNews ? [key] : []), ...below];
  const ended = await keysEndedWith(tx, accountId, key);
  const theirs = await parts.onKeysEnded(tx, { accountId, keys: [...new Set([...ended, ...below])], webhooks });
  if (news.length > 0) await recordKeysRevoked(tx, accountId, { keys: news, all: false, by });
  if (news.length > 0 || (webhooks === 'end' && theirs.length > 0)) {
    const webhooksEnded = webhooks === 'end' ? theirs.map(({ id }) => id) : [];
    const details = { key, keys: news.length, webhooks: webhooksEnded };
    await recordAudit(tx, { accountId, action: 'key.revoked', by, details });
  }
  return theirs;
}

interface Left {
  readonly accountId: bigint;
  readonly place: string;
}

/**
 * Also when the key was revoked before: another key may have held its place then, which has ended by itself since. Keys that
 * expired long ago are skipped: nothing brings them back, and there may be very many. An idle key is revoked,
 * because a longer KEY_IDLE_DAYS would bring it back.
 */
async function revokeBelow(tx: Transaction, parts: RevocationParts, { accountId, place }: Left): Promise<string[]> {
  const { rows } = await tx.query<{ id: string }>(
    `UPDATE api_keys k SET revoked_at = now()
      WHERE k.account_id = $1 AND $2 = ANY (k.path) AND k.revoked_at IS NULL
        AND (k.expires_at IS NULL OR k.expires_at > now() - interval '1 day')
        AND NOT EXISTS (SELECT FROM api_keys h WHERE h.place = $2 AND ${isWorking('h', '$3', '$4')})
     RETURNING k.id`,
    [accountId, place, ...workingTimes(parts)],
  );
  return rows.map(({ id }) => id).toSorted();
}

/** The key itself first, then the keys below it that the same commit has revoked. */
async function keysEndedWith(tx: Transaction, accountId: bigint, key: string): Promise<string[]> {
  const { rows } = await tx.query<{ id: string }>(
    `SELECT k.id FROM api_keys k JOIN api_keys e ON e.place = ANY (k.path) AND e.revoked_at = k.revoked_at
      WHERE k.account_id = $1 AND e.id = $2 ORDER BY k.id <> e.id, k.id`,
    [accountId, key],
  );
  return rows.map(({ id }) => id);
}

/** Revokes every key of the account, and ends its sessions on the pages. Each of its webhooks was created with one of the keys. */
export async function revokeAllKeys(
  tx: Transaction,
  onKeysEnded: OnKeysEnded,
  { accountId, webhooks, by }: Omit<KeyRevocation, 'key'>,
): Promise<{ readonly ended: number; readonly webhooks: WebhookOfKey[] }> {
  await lockOwner(tx, accountId);
  const { rows } = await tx.query<{ id: string }>(
    'UPDATE api_keys SET revoked_at = now() WHERE account_id = $1 AND revoked_at IS NULL RETURNING id',
    [accountId],
  );
  await endAllSessions(tx, accountId);
  const theirs = await onKeysEnded(tx, { accountId, keys: 'all', webhooks });
  const ended = rows.length;
  const keys = rows.map(({ id }) => id);
  if (ended > 0) await recordKeysRevoked(tx, accountId, { keys, all: true, by });
  const details = { keys: ended, webhooks: webhooks === 'end' ? theirs.map(({ id }) => id) : [] };
  await recordAudit(tx, { accountId, action: 'keys.revoked', by, details });
  return { ended, webhooks: theirs };
}
