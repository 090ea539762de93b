import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Transaction } from '../../kernel/db/database.ts';
import type { Scope } from '../../kernel/http/define-route.ts';
import { defineJob, enqueue, handleJob, type JobHandler } from '../../kernel/jobs/define-job.ts';
import { lockOwner } from '../../ledger/require-live-key.ts';
import { announceAccountChange } from '../account-changes.ts';
import type { OwnerActor } from '../actor.ts';
import { makeKey } from '../keys/make-key.ts';
import { revokeKey } from '../keys/revoke-keys.ts';
import type { AccountParts } from '../parts.ts';
import { requireProvedSession } from '../sessions/owner-session.ts';
import type { AuthorizationRequest } from './authorization-request.ts';
import { describeRedirect } from './redirect-uri.ts';

/** What the owner has decided. */
export interface GivenGrant {
  readonly actor: OwnerActor;
  readonly request: AuthorizationRequest;
  readonly scopes: readonly Scope[];
  readonly expiresAt: Date | undefined;
}

type GrantParts = Pick<AccountParts, 'secrets' | 'clock' | 'idleMs'>;

/** A client exchanges its code at once. */
const codeSeconds = 60;

/**
 * Makes a key without a secret, and a code for which the client gets tokens. The owner must have proved to be there. A client that
 * does not exchange its code gets nothing, and the key ends.
 */
export async function makeGrant(
  tx: Transaction,
  parts: GrantParts,
  { actor, request, scopes, expiresAt }: GivenGrant,
): Promise<{ readonly keyId: string; readonly code: string }> {
  const { client, redirectUri, challenge, resource } = request;
  await lockOwner(tx, actor.accountId);
  const key = await makeKey(tx, parts, {
    actor,
    name: client.name,
    scopes,
    expiresAt,
    parent: undefined,
    client: client.knownBy ?? describeRedirect(redirectUri),
    proveOwner: (commit) => requireProvedSession(commit, { id: actor.session }),
  });
  await requireProvedSession(tx, { id: actor.session });
  const code = `pa_code_${randomBytes(32).toString('base64url')}`;
  await tx.query(
    `INSERT INTO oauth_grants (key_id, account_id, client_id, client_host, resource, code_hash, code_ends_at, redirect_uri, challenge)
     VALUES ($1, $2, $3, $4, $5, $6, clock_timestamp() + make_interval(secs => $7), $8, $9)`,
    [
      key.id,
      actor.accountId,
      client.id,
      client.knownBy ?? describeRedirect(redirectUri),
      resource,
      parts.secrets.hash('oauth', code),
      codeSeconds,
      redirectUri,
      challenge,
    ],
  );
  await enqueue(tx, endUntakenGrant, { keyId: key.id }, { delayMs: (codeSeconds + 30) * 1_000 });
  return { keyId: key.id, code };
}

const endUntakenGrant = defineJob({
  name: 'end-untaken-grant',
  payload: z.object({ keyId: z.string() }),
  maxAttempts: 8,
});

/** Revokes the key of a client that never came for its tokens. */
export function endUntakenGrantHandler(
  parts: Pick<AccountParts, 'db' | 'clock' | 'idleMs' | 'onKeysEnded'>,
): JobHandler {
  return handleJob(endUntakenGrant, ({ keyId }) =>
    parts.db.transaction(async (tx) => {
      const { rows } = await tx.query<{ accountId: bigint }>('SELECT account_id FROM oauth_grants WHERE key_id = $1', [
        keyId,
      ]);
      const [grant] = rows;
      if (grant === undefined) return;
      const { accountId } = grant;
      await lockOwner(tx, accountId);
      const { rowCount } = await tx.query(
        'SELECT FROM oauth_grants WHERE key_id = $1 AND taken_at IS NULL FOR UPDATE',
        [keyId],
      );
      if (rowCount === 0) return;
      await revokeKey(tx, parts, { accountId, key: keyId, webhooks: 'keep', by: {} });
      await announceAccountChange(tx, accountId);
    }),
  );
}
