import type { Clock } from '../../kernel/clock.ts';
import { countToday } from '../../kernel/daily-caps/count-today.ts';
import { onlyRow, type Transaction } from '../../kernel/db/database.ts';
import { scopes as allScopes, type Scope } from '../../kernel/http/define-route.ts';
import { httpErrors } from '../../kernel/http/errors.ts';
import { scopeRequired } from '../../kernel/http/require-scope.ts';
import { newId } from '../../kernel/ids/ids.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';
import { recordKeyCreated } from '../account-events.ts';
import { type Actor, admit } from '../actor.ts';
import { recordAudit } from '../audit/record.ts';
import { accountErrors } from '../errors.ts';
import { mailOwner } from '../mail-owner.ts';
import type { AccountParts } from '../parts.ts';
import { newApiKey } from './api-key.ts';
import { isWorking, workingTimes } from './key-lifetime.ts';
import { isAbove, isKeyFrozen, type PlacedKey, parentOfKey, placedKeyColumns } from './place.ts';
import type { IssuedKey } from './shown-key.ts';

/** The root is on the first level. */
const mostLevels = 8;

/** Working keys of one account. Signing in is never refused, and its keys count. */
const mostKeys = 1_000;

interface NewKey {
  readonly accountId: bigint;
  readonly name: string;
  /** Defaults to all scopes. */
  readonly scopes?: readonly Scope[];
  readonly expiresAt?: Date | null;
  /** The key above it. Left out for a root. */
  readonly parent?: Pick<PlacedKey, 'path'>;
  /** The key that this one replaces, and whose place it takes. */
  readonly rotatedFrom?: Pick<PlacedKey, 'id' | 'path'>;
  /** Where the client answers that will hold it by tokens. Such a key has no secret. */
  readonly client?: string | undefined;
}

/** The only place that creates keys and their events. */
export async function issueKey(tx: Transaction, secrets: Secrets, key: NewKey): Promise<IssuedKey> {
  const { accountId, name, scopes = allScopes, expiresAt = null, parent, rotatedFrom, client } = key;
  const id = newId('key');
  const apiKey = client === undefined ? newApiKey() : '';
  const last4 = apiKey.slice(-4);
  const path = rotatedFrom?.path ?? [...(parent?.path ?? []), id];
  const stored = onlyRow(
    await tx.query<Pick<IssuedKey, 'createdAt' | 'parent' | 'frozen'>>(
      `INSERT INTO api_keys AS k (id, account_id, key_hash, name, last4, scopes, expires_at, place, path)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
       RETURNING created_at, ${parentOfKey} AS parent, ${isKeyFrozen} AS frozen`,
      [
        id,
        accountId,
        apiKey === '' ? null : secrets.hash('api-keys', apiKey),
        name,
        last4,
        scopes,
        expiresAt,
        path.at(-1),
        path,
      ],
    ),
  );
  const issued = { id, apiKey, name, last4, client: client ?? null, scopes: [...scopes], expiresAt, ...stored };
  await recordKeyCreated(tx, accountId, issued, rotatedFrom?.id ?? null);
  return issued;
}

interface KeyWish {
  readonly actor: Actor;
  readonly name: string;
  /** The calling key, which is the default, or a key below it. For the owner any key, and a root by default. */
  readonly parent: string | undefined;
  /** Defaults to the scopes of the parent. */
  readonly scopes: readonly Scope[] | undefined;
  /** Defaults to the expiry of the parent or of the calling key, whichever is earlier. */
  readonly expiresAt: Date | undefined;
  /** Where the client answers that will hold the key by tokens, instead of by a secret. */
  readonly client?: string;
  /** Refuses, unless the owner has proved to be there. Called for a key that may withdraw. */
  readonly proveOwner: (tx: Transaction) => Promise<unknown>;
}

type KeyMakerParts = Pick<AccountParts, 'secrets' | 'clock' | 'idleMs'>;

/**
 * Creates a key below the parent, with no more scopes and no later expiry than the parent and the calling key. The owner's
 * row is locked, so the parent cannot be revoked and no other key can be created meanwhile.
 */
export async function makeKey(tx: Transaction, parts: KeyMakerParts, wish: KeyWish): Promise<IssuedKey> {
  const { secrets, clock } = parts;
  const { actor, name, client } = wish;
  const { accountId, address } = actor;
  const maker = await admit(tx, actor);
  const parent = await findParent(tx, parts, { accountId, maker, id: wish.parent });
  const scopes = wish.scopes ?? parent?.scopes ?? allScopes;
  if (maker !== undefined) requireScopes(maker, scopes);
  if (parent !== undefined) requireScopesOfParent(parent, scopes);
  const expiresAt = expiryWithin({ maker, parent }, wish.expiresAt, clock);
  if (scopes.includes('withdraw')) await wish.proveOwner(tx);
  if (parent !== undefined && parent.path.length >= mostLevels) throw accountErrors.key_tree_too_deep();
  await refuseTooMany(tx, parts, accountId);

  await countToday(tx, actor, 'keys');
  const key = await issueKey(tx, secrets, { accountId, name, scopes, expiresAt, client, ...(parent && { parent }) });
  const ends = expiresAt?.toISOString() ?? null;
  const details = { key: key.id, name, scopes, expiresAt: ends, parent: key.parent, ...(client && { client }) };
  await recordAudit(tx, { accountId, action: 'key.created', by: actor, details });
  if (scopes.includes('withdraw')) await mailOwner(tx, secrets, accountId, newKeyNotice(key, address));
  return key;
}

interface ParentWish {
  readonly accountId: bigint;
  /** Undefined for the owner. */
  readonly maker: PlacedKey | undefined;
  readonly id: string | undefined;
}

/** A working key at the place of the calling key or below it. Undefined for a new root, which only the owner creates. */
async function findParent(tx: Transaction, parts: KeyMakerParts, { accountId, maker, id }: ParentWish) {
  if (id === undefined || id === maker?.id) return maker;
  const { rows } = await tx.query<PlacedKey>(
    `SELECT ${placedKeyColumns} FROM api_keys k
      WHERE k.id = $1 AND k.account_id = $2 AND ${isWorking('k', '$3', '$4')}`,
    [id, accountId, ...workingTimes(parts)],
  );
  const [parent] = rows;
  if (maker === undefined) {
    if (parent !== undefined) return parent;
    throw accountErrors.key_not_found('The key above the new one no longer works. Choose another one.');
  }
  if (parent !== undefined && (parent.place === maker.place || isAbove(maker, parent))) return parent;
  throw accountErrors.key_not_found(
    'The parent must be the calling key or a working key below it. GET /account/keys lists your keys.',
  );
}

async function refuseTooMany(tx: Transaction, parts: KeyMakerParts, accountId: bigint): Promise<void> {
  const { rowCount } = await tx.query(
    `SELECT FROM api_keys k WHERE k.account_id = $1 AND ${isWorking('k', '$2', '$3')} LIMIT ${mostKeys}`,
    [accountId, ...workingTimes(parts)],
  );
  if (rowCount === mostKeys) throw accountErrors.too_many_keys();
}

/** The calling key can neither create nor rotate a key with more scopes. */
export function requireScopes(maker: Pick<PlacedKey, 'scopes'>, scopes: readonly Scope[]): void {
  const missing = scopes.find((scope) => !maker.scopes.includes(scope));
  if (missing !== undefined) throw scopeRequired(missing);
}

function requireScopesOfParent(parent: PlacedKey, scopes: readonly Scope[]): void {
  const missing = scopes.find((scope) => !parent.scopes.includes(scope));
  if (missing === undefined) return;
  throw httpErrors.scope_required(
    `The parent lacks the scope \`${missing}\`, so keys below it cannot have it. Choose another parent or fewer scopes.`,
    { members: { scope: missing } },
  );
}

interface Limits {
  readonly maker: PlacedKey | undefined;
  readonly parent: PlacedKey | undefined;
}

function expiryWithin({ maker, parent }: Limits, wished: Date | undefined, clock: Clock): Date | null {
  const [makerEnd, parentEnd] = [maker?.expiresAt ?? null, parent?.expiresAt ?? null];
  const isParentFirst = parentEnd !== null && (makerEnd === null || parentEnd < makerEnd);
  const most = isParentFirst ? parentEnd : makerEnd;
  if (wished === undefined) return most;
  if (wished.getTime() <= clock.now() || wished.getUTCFullYear() > 9_999) {
    const message = 'must be in the future and before the year 10000';
    throw httpErrors.invalid_request(`expiresAt ${message}.`, { errors: [{ path: 'expiresAt', message }] });
  }
  if (most !== null && wished > most) {
    const whose = isParentFirst ? 'The parent' : 'The calling key';
    throw accountErrors.key_outlives_maker(
      `${whose} expires at ${most.toISOString()}; the new key must not expire later.`,
    );
  }
  return wished;
}

function newKeyNotice({ name, last4, client }: IssuedKey, ip: string) {
  if (client !== null) {
    return {
      subject: 'A client that can withdraw from your account was connected',
      text: `On the website, from ${ip}, the client "${name}" (${client}) was allowed to use your account. It can withdraw money.`,
    };
  }
  return {
    subject: 'A new API key can withdraw from your account',
    text: `A request from ${ip} created the API key "${name}", which ends in ${last4}. The key can withdraw money.`,
  };
}
