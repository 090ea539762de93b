import type { Clock } from '../../kernel/clock.ts';
import { countToday } from '../../kernel/daily-caps/count-today.ts';
import { onlyRow, type Transaction } from '../../kernel/db/database.ts';
import { scopes as allScopes, type Caller, type Scope } from '../../kernel/http/define-route.ts';
import { httpErrors } from '../../kernel/http/errors.ts';
import { scopeRequired } from '../../kernel/http/require-scope.ts';
import { newId } from '../../kernel/ids/ids.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';
import { requireLiveKey } from '../../ledger/require-live-key.ts';
import { recordKeyCreated } from '../account-events.ts';
import { recordAudit } from '../audit/record.ts';
import { accountErrors } from '../errors.ts';
import { mailOwner } from '../mail-owner.ts';
import type { AccountParts } from '../parts.ts';
import { newApiKey } from './api-key.ts';
import type { IssuedKey } from './shown-key.ts';

interface NewKey {
  readonly accountId: bigint;
  readonly name: string;
  /** Defaults to all scopes. */
  readonly scopes?: readonly Scope[];
  readonly expiresAt?: Date | null;
  /** The key that this one replaces. */
  readonly rotatedFrom?: string;
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
  const issued = { id, apiKey, name, last4, scopes: [...scopes], createdAt, expiresAt };
  await recordKeyCreated(tx, accountId, issued, rotatedFrom);
  return issued;
}

interface KeyWish {
  readonly caller: Caller;
  readonly ip: string;
  readonly name: string;
  /** Defaults to the scopes of the calling key. */
  readonly scopes: readonly Scope[] | undefined;
  /** Defaults to the expiry of the calling key. */
  readonly expiresAt: Date | undefined;
}

/** Creates a key with no more scopes and no later expiry than the calling key. */
export async function makeKey(tx: Transaction, { secrets, clock }: AccountParts, wish: KeyWish): Promise<IssuedKey> {
  const { caller, ip, name } = wish;
  const { accountId, keyId } = caller;
  await requireLiveKey(tx, caller);
  const maker = await readMaker(tx, keyId);
  const scopes = wish.scopes ?? maker.scopes;
  requireScopes(maker, scopes);
  const expiresAt = expiryWithin(maker.expiresAt, wish.expiresAt, clock);

  await countToday(tx, caller, 'keys');
  const key = await issueKey(tx, secrets, { accountId, name, scopes, expiresAt });
  const details = { key: key.id, name, scopes, expiresAt: expiresAt?.toISOString() ?? null };
  await recordAudit(tx, { accountId, action: 'key.created', by: { keyId, address: ip }, details });
  if (scopes.includes('withdraw')) await mailOwner(tx, secrets, accountId, newKeyNotice(key, ip));
  return key;
}

type Maker = Pick<IssuedKey, 'scopes' | 'expiresAt'>;

/** The calling key, which can neither create nor rotate a key with more scopes or a later expiry. */
export async function readMaker(tx: Transaction, keyId: string): Promise<Maker> {
  return onlyRow(await tx.query<Maker>('SELECT scopes, expires_at FROM api_keys WHERE id = $1', [keyId]));
}

export function requireScopes(maker: Maker, scopes: readonly Scope[]): void {
  const missing = scopes.find((scope) => !maker.scopes.includes(scope));
  if (missing !== undefined) throw scopeRequired(missing);
}

function expiryWithin(most: Date | null, wished: Date | undefined, clock: Clock): Date | null {
  if (wished === undefined) return most;
  if (wished.getTime() <= clock.now() || wished.getUTCFullYear() > 9_999) {
    const message = 'must be in the future and before the year 10000';
    throw httpErrors.invalid_request(`expiresAt ${message}.`, { errors: [{ path: 'expiresAt', message }] });
  }
  if (most !== null && wished > most) {
    throw accountErrors.key_outlives_maker(
      `The calling key expires at ${most.toISOString()}; a key that it creates must not expire later.`,
    );
  }
  return wished;
}

function newKeyNotice({ name, last4 }: IssuedKey, ip: string) {
  return {
    subject: 'A new API key can withdraw from your account',
    text: `A request from ${ip} created the API key "${name}", which ends in ${last4}. The key can withdraw money.`,
  };
}
