import { createHash, timingSafeEqual } from 'node:crypto';
import type { Transaction } from '../../kernel/db/database.ts';
import type { Scope } from '../../kernel/http/define-route.ts';
import { lockOwner } from '../../ledger/require-live-key.ts';
import { recordAudit } from '../audit/record.ts';
import { newApiKey } from '../keys/api-key.ts';
import { isWorking, workingTimes } from '../keys/key-lifetime.ts';
import { revokeKey } from '../keys/revoke-keys.ts';
import { mailOwner } from '../mail-owner.ts';
import type { AccountParts } from '../parts.ts';
import { readResource } from './authorization-request.ts';
import type { Resource } from './client.ts';
import { OAuthError } from './oauth-error.ts';
import { accessSeconds, newAccessToken, newRefreshToken, readAccessToken, readRefreshToken } from './tokens.ts';

export type ExchangeParts = Pick<
  AccountParts,
  'db' | 'secrets' | 'clock' | 'idleMs' | 'changes' | 'onKeysEnded' | 'publicUrl'
>;

type Given = Readonly<Record<string, string>>;

interface Visit {
  readonly given: Given;
  readonly address: string;
}

interface Grant {
  readonly keyId: string;
  readonly accountId: bigint;
  readonly clientId: string;
  readonly resource: Resource;
  readonly redirectUri: string;
  readonly challenge: string;
  readonly codeIsFresh: boolean;
  readonly isTaken: boolean;
  readonly refreshes: number;
  readonly scopes: readonly Scope[];
  readonly name: string;
  readonly expiresAt: Date | null;
  /** False once the key was revoked, has expired, or was not used for long. */
  readonly isWorking: boolean;
}

/** RFC 6749, section 5.1. Of the API, the token is a key without an end of its own. */
export interface TokenAnswer {
  readonly access_token: string;
  readonly token_type: 'Bearer';
  readonly expires_in?: number;
  readonly refresh_token?: string;
  readonly scope: string;
}

export async function issueTokens(parts: ExchangeParts, visit: Visit): Promise<TokenAnswer> {
  readResource(visit.given['resource'], parts.publicUrl());
  switch (visit.given['grant_type']) {
    case 'authorization_code':
      return takeGrant(parts, visit);
    case 'refresh_token':
      return refresh(parts, visit);
    case undefined:
      throw new OAuthError('invalid_request', 'grant_type is missing.');
    default:
      throw new OAuthError('unsupported_grant_type', 'The grant_type must be authorization_code or refresh_token.');
  }
}

const codeRefused = 'The code is unknown, was used, or is older than a minute. Ask the owner again.';

/** Exchanges the code of a grant, once. A second use by the client that knows the verifier means that it has leaked. */
async function takeGrant(parts: ExchangeParts, { given, address }: Visit): Promise<TokenAnswer> {
  const { db, secrets } = parts;
  const { code = '', code_verifier: verifier = '', redirect_uri: redirectUri } = given;
  const answer = await db.transaction(async (tx) => {
    const grant = await holdGrant(tx, parts, { column: 'code_hash', values: secrets.hashes('oauth', code) });
    if (grant === undefined) throw new OAuthError('invalid_grant', codeRefused);
    requireSameClient(grant, given, parts.publicUrl());
    if (redirectUri !== undefined && redirectUri !== grant.redirectUri)
      throw new OAuthError('invalid_grant', 'The redirect_uri is not the one that the code was sent to.');
    if (!isVerifier(verifier, grant.challenge))
      throw new OAuthError('invalid_grant', 'The code_verifier does not belong to the code.');
    if (!grant.isWorking) throw new OAuthError('invalid_grant', codeRefused);
    if (grant.isTaken) return grant;
    if (!grant.codeIsFresh) throw new OAuthError('invalid_grant', codeRefused);
    await tx.query('UPDATE oauth_grants SET taken_at = now(), refreshes = 1 WHERE key_id = $1', [grant.keyId]);
    return grant.resource === 'api' ? giveSecret(tx, parts, grant) : tokensOf(parts, { ...grant, refreshes: 1 });
  });
  if ('access_token' in answer) return answer;
  await endFamily(parts, answer, { address, what: 'code' });
  throw new OAuthError('invalid_grant', codeRefused);
}

/** Each refresh token works once. A second use means that somebody has a copy, so the client is disconnected. */
async function refresh(parts: ExchangeParts, { given, address }: Visit): Promise<TokenAnswer> {
  const refused = 'The refresh token is unknown, or its grant has ended. Ask the owner again.';
  const token = readRefreshToken(parts.secrets, given['refresh_token'] ?? '');
  if (token === undefined) throw new OAuthError('invalid_grant', refused);
  const answer = await parts.db.transaction(async (tx) => {
    const grant = await holdGrant(tx, parts, { column: 'key_id', values: [token.keyId] });
    if (grant === undefined || !grant.isWorking || token.number > grant.refreshes)
      throw new OAuthError('invalid_grant', refused);
    requireSameClient(grant, given, parts.publicUrl());
    if (token.number < grant.refreshes) return grant;
    await tx.query('UPDATE oauth_grants SET refreshes = refreshes + 1 WHERE key_id = $1', [grant.keyId]);
    return tokensOf(parts, { ...grant, refreshes: grant.refreshes + 1 });
  });
  if ('access_token' in answer) return answer;
  await endFamily(parts, answer, { address, what: 'refresh token' });
  throw new OAuthError(
    'invalid_grant',
    'The refresh token was used before, so the client was disconnected. Ask the owner again.',
  );
}

interface Known {
  readonly column: 'code_hash' | 'key_id';
  readonly values: readonly (Buffer | string)[];
}

/** Keeps the key from being revoked, and another exchange from happening, until the commit. */
async function holdGrant(tx: Transaction, parts: ExchangeParts, { column, values }: Known): Promise<Grant | undefined> {
  const { rowCount } = await tx.query(
    `SELECT FROM accounts WHERE id = (SELECT account_id FROM oauth_grants WHERE ${column} = ANY ($1)) FOR NO KEY UPDATE`,
    [values],
  );
  if (rowCount === 0) return undefined;
  const { rows } = await tx.query<Grant>(
    `SELECT g.key_id, g.account_id, g.client_id, g.resource, g.redirect_uri, g.challenge, g.refreshes,
            g.code_ends_at > clock_timestamp() AS code_is_fresh, g.taken_at IS NOT NULL AS is_taken,
            k.scopes, k.name, k.expires_at, ${isWorking('k', '$2', '$3')} AS is_working
       FROM oauth_grants g JOIN api_keys k ON k.id = g.key_id WHERE g.${column} = ANY ($1) FOR UPDATE OF g`,
    [values, ...workingTimes(parts)],
  );
  return rows[0];
}

function requireSameClient({ clientId, resource }: Grant, given: Given, publicUrl: string): void {
  if (given['client_id'] !== clientId)
    throw new OAuthError('invalid_client', 'The client_id is not the one that was given the grant.');
  const asked = readResource(given['resource'], publicUrl);
  if (asked !== undefined && asked !== resource)
    throw new OAuthError('invalid_target', 'The resource is not the one that was granted.');
}

function isVerifier(verifier: string, challenge: string): boolean {
  if (!/^[\w.~-]{43,128}$/.test(verifier)) return false;
  const [given, expected] = [createHash('sha256').update(verifier).digest(), Buffer.from(challenge, 'base64url')];
  return given.length === expected.length && timingSafeEqual(given, expected);
}

function tokensOf({ secrets, clock }: ExchangeParts, { keyId, refreshes, expiresAt, scopes }: Grant): TokenAnswer {
  const now = clock.now();
  const endsAt = Math.min(now + accessSeconds * 1_000, expiresAt?.getTime() ?? Number.POSITIVE_INFINITY);
  return {
    access_token: newAccessToken(secrets, { keyId, endsAt }),
    token_type: 'Bearer',
    expires_in: Math.max(1, Math.floor((endsAt - now) / 1_000)),
    refresh_token: newRefreshToken(secrets, { keyId, number: refreshes }),
    scope: scopes.join(' '),
  };
}

/** For our own command: the key gets a secret, and is a key like any other. */
async function giveSecret(tx: Transaction, { secrets }: ExchangeParts, { keyId, scopes }: Grant): Promise<TokenAnswer> {
  const apiKey = newApiKey();
  await tx.query('UPDATE api_keys SET key_hash = $2, last4 = $3 WHERE id = $1 AND key_hash IS NULL', [
    keyId,
    secrets.hash('api-keys', apiKey),
    apiKey.slice(-4),
  ]);
  await tx.query('DELETE FROM oauth_grants WHERE key_id = $1', [keyId]);
  return { access_token: apiKey, token_type: 'Bearer', scope: scopes.join(' ') };
}

interface Reuse {
  readonly address: string;
  readonly what: 'code' | 'refresh token';
}

async function endFamily(parts: ExchangeParts, { accountId, keyId, name }: Grant, { address, what }: Reuse) {
  const { changes, secrets } = parts;
  await changes.everywhere(accountId, async (tx) => {
    await lockOwner(tx, accountId);
    // Of several uses at once, the first one has done all this.
    const { rowCount } = await tx.query('SELECT FROM api_keys WHERE id = $1 AND revoked_at IS NULL', [keyId]);
    if (rowCount === 0) return;
    await recordAudit(tx, { accountId, action: 'grant.reused', by: { address }, details: { key: keyId, what } });
    await revokeKey(tx, parts, { accountId, key: keyId, webhooks: 'keep', by: { address } });
    await mailOwner(tx, secrets, accountId, {
      subject: `${name} was disconnected from your account`,
      text: `A ${what} of the client "${name}" was used twice, the second time from ${address}. Somebody may have a copy of it, so the client can do nothing any more. To use it again, connect it again.`,
    });
  });
}

/** RFC 7009. Ends the whole grant, whichever of its tokens is given. An unknown token is no error. */
export async function revokeGrant(parts: ExchangeParts, { given, address }: Visit): Promise<void> {
  const { token: text, client_id: clientId } = given;
  if (text === undefined) throw new OAuthError('invalid_request', 'token is missing.');
  const token = readRefreshToken(parts.secrets, text) ?? readAccessToken(parts.secrets, text);
  if (token === undefined) return;
  const { rows } = await parts.db.query<{ accountId: bigint }>(
    'SELECT account_id FROM oauth_grants WHERE key_id = $1 AND client_id = coalesce($2, client_id)',
    [token.keyId, clientId ?? null],
  );
  const [grant] = rows;
  if (grant === undefined) return;
  const { accountId } = grant;
  await parts.changes.everywhere(accountId, async (tx) => {
    await revokeKey(tx, parts, { accountId, key: token.keyId, webhooks: 'keep', by: { address } });
  });
}
