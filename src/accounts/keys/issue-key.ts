import { onlyRow, type Transaction } from '../../kernel/db/database.ts';
import { scopes as allScopes, type Scope } from '../../kernel/http/define-route.ts';
import { newId } from '../../kernel/ids/ids.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';
import { recordKeyCreated } from '../account-events.ts';
import { newApiKey } from './api-key.ts';

export interface NewKey {
  readonly accountId: bigint;
  readonly name: string;
  /** Defaults to all scopes. */
  readonly scopes?: readonly Scope[];
  readonly expiresAt?: Date | null;
  /** The key that this one replaces. */
  readonly rotatedFrom?: string;
}

export interface IssuedKey {
  readonly id: string;
  /** The key itself. It cannot be shown again. */
  readonly apiKey: string;
  readonly name: string;
  readonly last4: string;
  readonly scopes: Scope[];
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
}

/** The only place that creates keys and their events. */
export async function issueKey(tx: Transaction, secrets: Secrets, key: NewKey): Promise<IssuedKey> {
  const { accountId, name, scopes = allScopes, expiresAt = null, rotatedFrom = null } = key;
  const id = newId('key');
  const apiKey = newApiKey();
  const last4 = apiKey.slice(-4);
  const { createdAt } = onlyRow(
    await tx.query<{ createdAt: Date }>(
      `INSERT INTO api_keys (id, account_id, key_hash, name, last4, scopes, expires_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING created_at`,
      [id, accountId, secrets.hash('api-keys', apiKey), name, last4, scopes, expiresAt],
    ),
  );
  await recordKeyCreated(tx, accountId, { id, name, last4, scopes, expiresAt, rotatedFrom });
  return { id, apiKey, name, last4, scopes: [...scopes], createdAt, expiresAt };
}
