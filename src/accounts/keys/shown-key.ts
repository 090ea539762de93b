import { z } from 'zod';
import type { Clock } from '../../kernel/clock.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import { type Scope, scopes } from '../../kernel/http/define-route.ts';
import { formatKeyEnd, isWorking, type KeyIdleness, type KeyTimes, workingTimes } from './key-lifetime.ts';
import { clientOfKey, isKeyFrozen, parentOfKey } from './place.ts';

interface KeyQuery extends KeyIdleness {
  readonly accountId: bigint;
  readonly clock: Clock;
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/** Working keys, newest first, and one more than the page holds. */
export async function listLiveKeys(
  db: Queryable,
  { accountId, clock, idleMs, limit, cursor }: KeyQuery,
): Promise<ListedKey[]> {
  const { rows } = await db.query<ListedKey>(
    `SELECT k.id, k.name, k.last4, k.scopes, k.created_at, k.last_used_at, k.last_used_from, k.expires_at, k.rotated_to,
            ${parentOfKey} AS parent, ${isKeyFrozen} AS frozen, ${clientOfKey} AS client
       FROM api_keys k
      WHERE k.account_id = $1 AND ${isWorking('k', '$2', '$3')} AND ($4::text IS NULL OR k.id < $4)
      ORDER BY k.id DESC LIMIT $5`,
    [accountId, ...workingTimes({ clock, idleMs }), cursor ?? null, limit + 1],
  );
  return rows;
}

export const scope = z.enum(scopes, { error: `must be one of ${scopes.join(', ')}` });

export const key = z.object({
  id: z.string(),
  name: z.string(),
  last4: z.string().meta({ description: 'Its last four characters. Empty for a connected client.' }),
  client: z.string().nullable().meta({
    description:
      'For a client that you have connected over OAuth, where it answers: a host, or `this device`. It holds the key by tokens, so the key has no secret. Null for all other keys.',
  }),
  scopes: z.array(scope).meta({
    description:
      'What the key may do. `read`: read data. `pay`: make payments from the balance. `withdraw`: send money to external addresses. `manage`: change the account, its keys and webhooks.',
  }),
  parent: z.string().nullable().meta({
    description:
      'The id of the key above this one. Null for a root, which comes from registering or signing in. Revoking a key also revokes all keys below it.',
  }),
  frozen: z.boolean().meta({
    description: 'Whether this key or a key above it is frozen. A frozen key can read, and pays nothing.',
  }),
  createdAt: z.iso.datetime(),
  lastUsedAt: z.iso
    .datetime()
    .nullable()
    .meta({ description: 'Accurate to about a minute. Null if the key was never used.' }),
  lastUsedFrom: z.string().nullable().meta({ description: 'The IP address that last used the key.' }),
  expiresAt: z.iso.datetime().nullable().meta({
    description: 'When the key expires: at its fixed date, or earlier if it stays unused. Null if it does not expire.',
  }),
  current: z.boolean().meta({ description: 'Whether this is the key of this request.' }),
  rotatedTo: z.string().nullable().meta({
    description:
      'The id of the key that replaces this one. A rotated key works until its `expiresAt` and cannot be rotated again.',
  }),
});

/** A key without its secret. */
export type ListedKey = KeyTimes & Omit<z.output<typeof key>, keyof KeyTimes | 'current'>;

/** A key at its creation, the only moment that can show its secret. */
export interface IssuedKey extends Omit<ListedKey, 'lastUsedAt' | 'lastUsedFrom' | 'rotatedTo'> {
  readonly apiKey: string;
}

export const exampleListed = {
  id: 'key_01kp3v2m8rfk2s6y0e6v9q4w1x',
  name: 'Shopping agent',
  last4: 'dabc',
  client: null as string | null,
  scopes: ['read', 'pay'] satisfies Scope[] as Scope[],
  parent: 'key_01kp3v0a5c9f7h2j4m6n8p0q1r' as string | null,
  frozen: false,
  createdAt: '2026-01-15T10:00:00.000Z',
  lastUsedAt: '2026-01-16T08:30:00.000Z',
  lastUsedFrom: '203.0.113.7',
  expiresAt: '2026-04-16T08:30:00.000Z',
  current: false,
  rotatedTo: null,
};

interface Seen extends KeyIdleness {
  /** The key of the request. */
  readonly keyId: string;
}

export function describeKey(row: ListedKey, { idleMs, keyId }: Seen): z.input<typeof key> {
  return {
    ...row,
    createdAt: row.createdAt.toISOString(),
    lastUsedAt: row.lastUsedAt?.toISOString() ?? null,
    expiresAt: formatKeyEnd(row, { idleMs }),
    current: row.id === keyId,
  };
}

export function describeNewKey({ apiKey, ...made }: IssuedKey, seen: Seen) {
  return { apiKey, ...describeKey({ ...made, lastUsedAt: null, lastUsedFrom: null, rotatedTo: null }, seen) };
}
