import type { Database } from '../../kernel/db/database.ts';
import type { Logger } from '../../kernel/log/logger.ts';

export interface KeyUse {
  readonly at: number;
  readonly address: string;
}

/** The last use of each key: kept in memory and written once a minute. A crash loses at most a minute. */
export interface KeyUses {
  /** The first use is written at once: from then on the rotation that created the key cannot be undone. */
  note(keyId: string, use: KeyUse, how?: { readonly isFirst: boolean }): Promise<void> | void;
  writeDown(): Promise<void>;
  /** Writes the rest. */
  stop(): Promise<void>;
}

const writeEveryMs = 60_000;
const mostAtOnce = 1_000;

export function createKeyUses({ db, logger }: { readonly db: Database; readonly logger: Logger }): KeyUses {
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
    async note(keyId, use, how) {
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
