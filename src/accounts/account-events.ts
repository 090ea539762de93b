import type { Transaction } from '../kernel/db/database.ts';
import type { EventType } from '../ledger/event-types.ts';
import { recordEvent } from '../ledger/events.ts';
import type { AuditActor } from './audit/record.ts';
import type { IssuedKey } from './keys/shown-key.ts';

export const accountEvents: readonly EventType[] = ['key.created', 'key.revoked', 'account.changed'].map((name) => ({
  name,
}));

/** At most this many ids per event, because a takeover may end very many keys. */
const mostKeysNamed = 100;

/** `rotatedFrom` is the key that this one replaces. */
export async function recordKeyCreated(
  tx: Transaction,
  accountId: bigint,
  { id, name, last4, scopes, expiresAt }: IssuedKey,
  rotatedFrom: string | null,
): Promise<void> {
  const data = { keyId: id, name, last4, scopes, expiresAt: expiresAt?.toISOString() ?? null, rotatedFrom };
  await recordEvent(tx, { accountId, type: 'key.created', data });
}

interface RevokedKeys {
  readonly keys: readonly string[];
  /** Whether the account has no working key left. */
  readonly all: boolean;
  readonly by: AuditActor;
}

/** One event for all keys that a commit ends. Call it after ending webhooks, so that only the remaining ones receive it. */
export async function recordKeysRevoked(
  tx: Transaction,
  accountId: bigint,
  { keys, all, by }: RevokedKeys,
): Promise<void> {
  const data = { keyIds: keys.slice(0, mostKeysNamed), count: keys.length, all, ...tellActor(by) };
  await recordEvent(tx, { accountId, type: 'key.revoked', data });
}

export type ChangedField =
  | 'name'
  | 'email'
  | 'emailVerified'
  | 'phone'
  | 'withdrawalAddress'
  | 'shippingAddress'
  | 'tier'
  | 'frozen'
  | 'duplicateGuard'
  | 'password';

/** Names the changed fields, but never their values, which GET /account returns. Records nothing for an empty list. */
export async function recordAccountChanged(
  tx: Transaction,
  accountId: bigint,
  { fields, by }: { readonly fields: readonly ChangedField[]; readonly by: AuditActor },
): Promise<void> {
  if (fields.length === 0) return;
  await recordEvent(tx, { accountId, type: 'account.changed', data: { fields, ...tellActor(by) } });
}

/** The operator's name is not disclosed. */
function tellActor({ keyId, operator }: AuditActor) {
  return { byKey: keyId ?? null, byOperator: operator !== undefined };
}
