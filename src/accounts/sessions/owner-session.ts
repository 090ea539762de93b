import { randomBytes } from 'node:crypto';
import type { Queryable, Transaction } from '../../kernel/db/database.ts';
import type { Caller } from '../../kernel/http/define-route.ts';
import { defineErrors } from '../../kernel/http/problem.ts';
import { newId } from '../../kernel/ids/ids.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';

/** An owner who is signed in on the pages. */
export interface OwnerSession {
  readonly id: string;
  readonly accountId: bigint;
  readonly handle: string;
  readonly name: string;
  readonly tier: Caller['tier'];
  /** The owner entered the password within the last five minutes. In a transaction, `holdProvedSession` is binding. */
  readonly isProved: boolean;
}

export interface ListedSession {
  readonly id: string;
  /** The address and the browser of the sign-in. */
  readonly address: string;
  readonly browser: string | null;
  readonly createdAt: Date;
  readonly seenAt: Date;
  /** When it ends at the latest if it is not used. */
  readonly endsAt: Date;
}

/** SQL for the session `s`: when it ends if it is not used, 30 minutes after its last use and 12 hours after the sign-in. */
const endSql = "least(s.seen_at + interval '30 minutes', s.created_at + interval '12 hours')";
const isOpenSql = `s.ended_at IS NULL AND ${endSql} > clock_timestamp()`;
const isProvedSql = "coalesce(s.proved_at > clock_timestamp() - interval '5 minutes', false)";

export interface NewSession {
  readonly accountId: bigint;
  readonly address: string;
  readonly browser: string | undefined;
}

/** Returns the token for the cookie, which is not stored. The owner has just proved to be there. Some sessions that are older than a month are forgotten. */
export async function openSession(
  tx: Transaction,
  secrets: Secrets,
  { accountId, address, browser }: NewSession,
): Promise<{ readonly id: string; readonly token: string }> {
  const id = newId('ses');
  const token = randomBytes(32).toString('base64url');
  await tx.query(
    `DELETE FROM owner_sessions WHERE id IN (
       SELECT id FROM owner_sessions WHERE created_at < now() - interval '30 days' ORDER BY id LIMIT 100 FOR UPDATE SKIP LOCKED)`,
  );
  await tx.query(
    'INSERT INTO owner_sessions (id, account_id, token_hash, address, browser, proved_at) VALUES ($1, $2, $3, $4, $5, now())',
    [id, accountId, secrets.hash('owner-sessions', token), address, browser?.slice(0, 200) ?? null],
  );
  return { id, token };
}

interface FoundSession extends OwnerSession {
  readonly isSeenNow: boolean;
}

/** Finds an open session by its token, and extends it. */
export async function findSession(db: Queryable, secrets: Secrets, token: string): Promise<OwnerSession | undefined> {
  const { rows } = await db.query<FoundSession>(
    `SELECT s.id, s.account_id, a.handle, a.name, a.tier, ${isProvedSql} AS is_proved,
            s.seen_at > clock_timestamp() - interval '1 minute' AS is_seen_now
       FROM owner_sessions s JOIN accounts a ON a.id = s.account_id
      WHERE s.token_hash = ANY ($1) AND ${isOpenSql} AND a.closed_at IS NULL`,
    [secrets.hashes('owner-sessions', token)],
  );
  const [found] = rows;
  if (found === undefined) return undefined;
  const { isSeenNow, ...session } = found;
  if (!isSeenNow) {
    await db.query(`UPDATE owner_sessions s SET seen_at = clock_timestamp() WHERE s.id = $1 AND ${isOpenSql}`, [
      session.id,
    ]);
  }
  return session;
}

/** The owner has entered the password again. False when the session has ended. */
export async function proveSession(tx: Transaction, { id }: Pick<OwnerSession, 'id'>): Promise<boolean> {
  const { rowCount } = await tx.query(
    `UPDATE owner_sessions s SET proved_at = clock_timestamp() WHERE s.id = $1 AND ${isOpenSql}`,
    [id],
  );
  return rowCount === 1;
}

/**
 * Whether the session is still open, and its owner has entered the password within the last five minutes. A change that ends the
 * session waits for this commit, so a decision in it was made in an open session. Lock the account's row first (`lockForSessions`).
 */
export async function holdProvedSession(tx: Transaction, { id }: Pick<OwnerSession, 'id'>): Promise<boolean> {
  const { rowCount } = await tx.query(
    `SELECT FROM owner_sessions s WHERE s.id = $1 AND ${isOpenSql} AND ${isProvedSql} FOR SHARE`,
    [id],
  );
  return rowCount === 1;
}

/** As `holdProvedSession`, for a form that its owner opened in time. */
export async function requireProvedSession(tx: Transaction, session: Pick<OwnerSession, 'id'>): Promise<void> {
  if (!(await holdProvedSession(tx, session))) throw sessionErrors.session_ended();
}

/** The open sessions, newest first. */
export async function listSessions(
  db: Queryable,
  {
    accountId,
    cursor,
    limit,
  }: { readonly accountId: bigint; readonly cursor?: string | undefined; readonly limit: number },
): Promise<ListedSession[]> {
  const { rows } = await db.query<ListedSession>(
    `SELECT s.id, s.address, s.browser, s.created_at, s.seen_at, ${endSql} AS ends_at FROM owner_sessions s
      WHERE s.account_id = $1 AND ${isOpenSql} AND ($2::text IS NULL OR s.id < $2) ORDER BY s.id DESC LIMIT $3`,
    [accountId, cursor ?? null, limit],
  );
  return rows;
}

const sessionErrors = defineErrors({
  session_ended: {
    status: 403,
    title: 'Signed out',
    detail: 'This session has ended meanwhile. Nothing was changed. Sign in again, and repeat what you did.',
  },
});

/** Locks the owner's row and then the session, so that it cannot end before the commit. Throws if it has ended. */
export async function requireOpenSession(
  tx: Transaction,
  { accountId, session }: { readonly accountId: bigint; readonly session: string },
): Promise<void> {
  await lockForSessions(tx, accountId);
  const { rowCount } = await tx.query(
    `SELECT FROM owner_sessions s WHERE s.id = $1 AND s.account_id = $2 AND ${isOpenSql} FOR SHARE`,
    [session, accountId],
  );
  if (rowCount === 0) throw sessionErrors.session_ended();
}

/** Before a change of its sessions, as everything does that locks both: an approval holds the account and then the session. */
export async function lockForSessions(tx: Transaction, accountId: bigint): Promise<void> {
  await tx.query('SELECT FROM accounts WHERE id = $1 FOR NO KEY UPDATE', [accountId]);
}

/** Ends one session of the account. False when it had ended or is not the account's. */
export async function endSession(
  tx: Queryable,
  { accountId, id }: { readonly accountId: bigint; readonly id: string },
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `UPDATE owner_sessions s SET ended_at = clock_timestamp() WHERE s.id = $1 AND s.account_id = $2 AND ${isOpenSql}`,
    [id, accountId],
  );
  return rowCount === 1;
}

/** Ends every session of the account, in the commit of what asks for it. A new password does so by itself (027_owner_sessions.sql). */
export async function endAllSessions(tx: Queryable, accountId: bigint): Promise<number> {
  const { rowCount } = await tx.query(
    'UPDATE owner_sessions SET ended_at = clock_timestamp() WHERE account_id = $1 AND ended_at IS NULL',
    [accountId],
  );
  return rowCount ?? 0;
}
