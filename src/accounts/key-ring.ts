import type { Database } from '../db/database.ts';
import type { Caller } from '../http/define-route.ts';
import type { Secrets } from '../secrets.ts';
import { looksLikeApiKey } from './api-key.ts';

const mostRemembered = 50_000;

/** Finds out who a key belongs to, and remembers it until the account changes. */
export interface KeyRing {
  /** At once when the key is remembered or cannot be one; otherwise it asks the database, if `mayAsk` does not throw. */
  find(apiKey: string, mayAsk: () => void | Promise<void>): Caller | undefined | Promise<Caller | undefined>;
  forget(accountId: bigint): void;
  forgetAll(): void;
}

interface KeyRow {
  readonly account_id: bigint;
  readonly key_id: string;
  readonly handle: string;
  readonly tier: Caller['tier'];
}

/** `mayRemember` says whether changes reach us at this moment; while they do not, every key is looked up afresh. */
export function createKeyRing(db: Database, secrets: Secrets, mayRemember: () => boolean): KeyRing {
  const callers = new Map<string, Caller>();
  const keysOf = new Map<bigint, Set<string>>();
  // Counts the changes heard of. What was read before a change and arrives after it must not be remembered.
  let changes = 0;

  async function load(apiKey: string): Promise<Caller | undefined> {
    // Deaf at the beginning, we may have missed a change that what we read does not show.
    const mayRememberIt = mayRemember();
    const changesBefore = changes;
    const { rows } = await db.query<KeyRow>(
      `SELECT k.account_id, k.id AS key_id, a.handle, a.tier
         FROM api_keys k JOIN accounts a ON a.id = k.account_id
        WHERE k.key_hash = ANY ($1) AND k.revoked_at IS NULL`,
      [secrets.hashes('api-keys', apiKey)],
    );
    const [row] = rows;
    if (row === undefined) return undefined;
    const caller: Caller = {
      accountId: row.account_id,
      keyId: row.key_id,
      handle: row.handle,
      tier: row.tier,
      bucket: `account:${row.account_id}`,
    };
    if (changes === changesBefore && mayRememberIt && mayRemember()) remember(apiKey, caller);
    return caller;
  }

  function remember(apiKey: string, caller: Caller): void {
    if (callers.size >= mostRemembered) forgetOldest();
    callers.set(apiKey, caller);
    const keys = keysOf.get(caller.accountId) ?? new Set();
    keysOf.set(caller.accountId, keys.add(apiKey));
  }

  function forgetOldest(): void {
    for (const [apiKey, { accountId }] of callers) {
      callers.delete(apiKey);
      const keys = keysOf.get(accountId);
      keys?.delete(apiKey);
      if (keys?.size === 0) keysOf.delete(accountId);
      return;
    }
  }

  return {
    find(apiKey, mayAsk) {
      const known = callers.get(apiKey);
      if (known !== undefined) return known;
      if (!looksLikeApiKey(apiKey)) return undefined;
      const turn = mayAsk();
      return turn instanceof Promise ? turn.then(() => load(apiKey)) : load(apiKey);
    },
    forget(accountId) {
      changes++;
      for (const apiKey of keysOf.get(accountId) ?? []) callers.delete(apiKey);
      keysOf.delete(accountId);
    },
    forgetAll() {
      changes++;
      callers.clear();
      keysOf.clear();
    },
  };
}
