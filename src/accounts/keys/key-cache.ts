import type { Clock } from '../../kernel/clock.ts';
import type { Database } from '../../kernel/db/database.ts';
import type { Caller } from '../../kernel/http/define-route.ts';
import type { KeyLookup } from '../../kernel/http/request-guards.ts';
import type { Logger } from '../../kernel/log/logger.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';
import { looksLikeAccessToken, readAccessToken } from '../oauth/tokens.ts';
import { looksLikeApiKey } from './api-key.ts';
import { endOfKey, type KeyTimes } from './key-lifetime.ts';

export interface KeyUse {
  readonly at: number;
  readonly address: string;
}

type KeyUses = ReturnType<typeof createKeyUses>;

const writeEveryMs = 60_000;
const mostAtOnce = 1_000;

/** The last use of each key: kept in memory and written once a minute. A crash loses at most a minute. */
export function createKeyUses({ db, logger }: { readonly db: Database; readonly logger: Logger }) {
  const noted = new Map<string, KeyUse>();

  /**
   * Skips locked rows until the next run, so it never waits. A revoked key without a name belongs to a closed account:
   * its last address stays erased.
   */
  async function write(uses: readonly (readonly [string, KeyUse])[]): Promise<void> {
    const { rows } = await db.query<{ id: string }>(
      `WITH free AS (SELECT id FROM api_keys WHERE id = ANY ($1) ORDER BY id FOR NO KEY UPDATE SKIP LOCKED)
       UPDATE api_keys k
          SET last_used_at = greatest(k.last_used_at, to_timestamp(u.at / 1000.0)),
              last_used_from = CASE WHEN k.revoked_at IS NOT NULL AND k.name IS NULL THEN NULL
                WHEN k.last_used_at > to_timestamp(u.at / 1000.0) THEN k.last_used_from ELSE u.address END
         FROM free JOIN unnest($1::text[], $2::float8[], $3::text[]) u (id, at, address) USING (id)
        WHERE k.id = free.id
       RETURNING k.id`,
      [uses.map(([id]) => id), uses.map(([, { at }]) => at), uses.map(([, { address }]) => address)],
    );
    const written = new Set(rows.map(({ id }) => id));
    for (const [id, use] of uses) if (written.has(id) && noted.get(id) === use) noted.delete(id);
  }

  async function writeDown(): Promise<void> {
    const all = [...noted];
    for (let first = 0; first < all.length; first += mostAtOnce) await write(all.slice(first, first + mostAtOnce));
  }

  const timer = setInterval(() => {
    writeDown().catch((err: unknown) => logger.warn({ err }, 'could not store when keys were last used'));
  }, writeEveryMs).unref();

  return {
    /** The first use is written at once: from then on the rotation that created the key cannot be undone. */
    async note(keyId: string, use: KeyUse, how?: { readonly isFirst: boolean }) {
      noted.set(keyId, use);
      if (how?.isFirst === true)
        await write([[keyId, use]]).catch((err: unknown) =>
          logger.warn({ err }, 'could not store the first use of a key'),
        );
    },
    writeDown,
    async stop() {
      clearInterval(timer);
      await writeDown().catch((err: unknown) => logger.warn({ err }, 'could not store when keys were last used'));
    },
  };
}

const mostRemembered = 50_000;

/** A key that was idle for this long is looked up again, because it may have been used elsewhere or have reached its idle limit. */
const rememberedForMs = 60 * 60_000;

const noteEveryMs = 60_000;

/** What a credential says, before the database is asked. */
interface Read {
  /** SQL for the key `k`. */
  readonly condition: string;
  readonly value: unknown;
  /** When the credential ends, if it ends before its key does. */
  readonly endsAt: number;
}

/** A kind of credential that stands for a key. Undefined for any other text. */
export type Credential = (text: string, secrets: Secrets) => Read | undefined;

export const apiKeys: Credential = (text, secrets) =>
  looksLikeApiKey(text)
    ? {
        condition: 'k.key_hash = ANY ($1)',
        value: secrets.hashes('api-keys', text),
        endsAt: Number.POSITIVE_INFINITY,
      }
    : undefined;

/** Of clients that are connected over OAuth. */
export const accessTokens: Credential = (text, secrets) => {
  const token = looksLikeAccessToken(text) ? readAccessToken(secrets, text) : undefined;
  return token && { condition: 'k.id = $1 AND k.key_hash IS NULL', value: token.keyId, endsAt: token.endsAt };
};

/** Finds the caller of a key, and caches it until the account changes or the key ends. */
export interface KeyCache {
  /** Answers at once for a cached key or malformed text. Otherwise it queries the database, unless `mayAsk` throws. */
  find(text: string, visit: KeyLookup): Caller | undefined | Promise<Caller | undefined>;
  forget(accountId: bigint): void;
  forgetAll(): void;
}

export interface KeyCacheOptions {
  readonly credential: Credential;
  readonly db: Database;
  readonly secrets: Secrets;
  /** Whether change notifications arrive now. While they do not, nothing is cached. */
  readonly mayRemember: () => boolean;
  readonly clock: Clock;
  readonly idleMs: number;
  readonly uses: { note(...use: Parameters<KeyUses['note']>): Promise<void> | void };
}

interface Remembered {
  readonly caller: Caller;
  /** The expiry. The idle limit cannot be reached while the key is cached. */
  readonly expiresAt: number;
  usedAt: number;
  notedAt: number;
}

export function createKeyCache(options: KeyCacheOptions): KeyCache {
  const { credential, db, secrets, mayRemember, clock, idleMs, uses } = options;
  const remembered = new Map<string, Remembered>();
  const keysOf = new Map<bigint, Set<string>>();
  // Counts change notifications: a row that was read before a change and arrives after it must not be cached.
  let changes = 0;

  async function load(text: string, { condition, value, endsAt }: Read, visit: KeyLookup): Promise<Caller | undefined> {
    // If notifications were down at the start of the read, a change may have been missed.
    const mayRememberIt = mayRemember();
    const changesBefore = changes;
    const { rows } = await db.query<Omit<Caller, 'bucket'> & KeyTimes>(
      `SELECT k.account_id, k.id AS key_id, a.handle, a.tier, k.scopes, k.expires_at,
              k.last_used_at, k.created_at, coalesce(s.stamp, 0) AS stamp, a.duplicate_guard
         FROM api_keys k JOIN accounts a ON a.id = k.account_id LEFT JOIN key_stamps s ON s.account_id = k.account_id
        WHERE ${condition} AND k.revoked_at IS NULL`,
      [value],
    );
    const [row] = rows;
    const now = clock.now();
    if (row === undefined || endsAt <= now || endOfKey(row, { idleMs }) <= now) return undefined;
    const { expiresAt: end, lastUsedAt, createdAt, ...known } = row;
    const caller: Caller = { ...known, bucket: `account:${known.accountId}` };
    await uses.note(caller.keyId, { at: now, address: visit.address() }, { isFirst: lastUsedAt === null });
    if (changes === changesBefore && mayRememberIt && mayRemember()) {
      const expiresAt = Math.min(endsAt, end?.getTime() ?? Number.POSITIVE_INFINITY);
      remember(text, { caller, expiresAt, usedAt: now, notedAt: now });
    }
    return caller;
  }

  function remember(apiKey: string, entry: Remembered): void {
    if (remembered.size >= mostRemembered) forgetOldest();
    remembered.set(apiKey, entry);
    const { accountId } = entry.caller;
    const keys = keysOf.get(accountId) ?? new Set();
    keysOf.set(accountId, keys.add(apiKey));
  }

  function forgetOldest(): void {
    for (const [apiKey, { caller }] of remembered) {
      forgetOne(apiKey, caller.accountId);
      return;
    }
  }

  function forgetOne(apiKey: string, accountId: bigint): void {
    remembered.delete(apiKey);
    const keys = keysOf.get(accountId);
    keys?.delete(apiKey);
    if (keys?.size === 0) keysOf.delete(accountId);
  }

  /** Returns the caller if the key is cached and still valid. */
  function recall(apiKey: string, visit: KeyLookup): Caller | undefined {
    const known = remembered.get(apiKey);
    if (known === undefined) return undefined;
    const now = clock.now();
    if (now >= known.expiresAt || now - known.usedAt >= rememberedForMs) {
      forgetOne(apiKey, known.caller.accountId);
      return undefined;
    }
    known.usedAt = now;
    if (now - known.notedAt >= noteEveryMs) {
      known.notedAt = now;
      void uses.note(known.caller.keyId, { at: now, address: visit.address() });
    }
    return known.caller;
  }

  return {
    find(apiKey, visit) {
      const known = recall(apiKey, visit);
      if (known !== undefined) return known;
      const read = credential(apiKey, secrets);
      if (read === undefined) return undefined;
      const turn = visit.mayAsk();
      return turn instanceof Promise ? turn.then(() => load(apiKey, read, visit)) : load(apiKey, read, visit);
    },
    forget(accountId) {
      changes++;
      for (const apiKey of keysOf.get(accountId) ?? []) remembered.delete(apiKey);
      keysOf.delete(accountId);
    },
    forgetAll() {
      changes++;
      remembered.clear();
      keysOf.clear();
    },
  };
}
