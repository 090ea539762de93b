import type { Database } from '../../kernel/db/database.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';
import {
  createSigningKey,
  exportSigningKey,
  importSigningKey,
  type SigningKey,
} from '../../kernel/signing/signing-key.ts';

const keyName = 'requests';

/**
 * The key that signs our requests to shops; its public half is in our UCP profile. The first use creates it, and all instances
 * share it.
 */
export function createAgentKey({
  db,
  secrets,
}: {
  readonly db: Database;
  readonly secrets: Secrets;
}): () => Promise<SigningKey> {
  let known: Promise<SigningKey> | undefined;

  async function load(): Promise<SigningKey> {
    return (await find()) ?? (await add());
  }

  async function find(): Promise<SigningKey | undefined> {
    const { rows } = await db.query<{ sealed: Buffer }>('SELECT sealed FROM agent_keys WHERE name = $1', [keyName]);
    return rows[0] && importSigningKey(secrets.open('agent-keys', rows[0].sealed));
  }

  async function add(): Promise<SigningKey> {
    const fresh = createSigningKey();
    await db.query('INSERT INTO agent_keys (name, sealed) VALUES ($1, $2) ON CONFLICT DO NOTHING', [
      keyName,
      secrets.seal('agent-keys', exportSigningKey(fresh)),
    ]);
    // Two instances may create a key at once; the row that was inserted wins.
    return (await find()) ?? fresh;
  }

  return () => {
    known ??= load().catch((error: unknown) => {
      known = undefined;
      throw error;
    });
    return known;
  };
}
