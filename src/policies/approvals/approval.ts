import type { Queryable, Transaction } from '../../kernel/db/database.ts';
import type { KeptRequest } from '../../kernel/http/repeat-request.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';
import { recordEvent } from '../../ledger/events.ts';
import { type Shown, sayTerms } from './terms.ts';

export const approvalStatuses = ['pending', 'executed', 'denied', 'expired', 'cancelled', 'failed'] as const;

type ApprovalStatus = (typeof approvalStatuses)[number];

export interface Granted {
  readonly key: string;
  readonly id: string;
  readonly amount: string;
}

export interface FailureReason {
  readonly code: string;
  readonly detail: string;
}

/** What is sealed in the row, beside the request. */
interface Kept {
  readonly shown: Shown;
  /** The agent's own words. */
  readonly note: string | null;
}

export interface Approval extends Kept {
  readonly id: string;
  readonly accountId: bigint;
  readonly keyId: string;
  readonly keyName: string | null;
  /** As a hexadecimal number, like `shownHash`. */
  readonly digest: string;
  readonly shownHash: string;
  readonly status: ApprovalStatus;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  readonly decidedAt: Date | null;
  readonly reason: FailureReason | null;
  readonly granted: readonly Granted[] | null;
}

interface ApprovalRow extends Omit<Approval, keyof Kept> {
  readonly sealed: Buffer;
}

/** What runs again. Undefined once the approval has ended without a payment. */
export async function findRequest(
  db: Queryable,
  secrets: Secrets,
  { id }: Pick<Approval, 'id'>,
): Promise<KeptRequest | undefined> {
  const { rows } = await db.query<{ sealedRequest: Buffer | null }>(
    'SELECT sealed_request FROM approvals WHERE id = $1',
    [id],
  );
  const sealed = rows[0]?.sealedRequest;
  return sealed == null ? undefined : (JSON.parse(secrets.open('approvals', sealed)) as KeptRequest);
}

/** A pending approval whose time is over has expired, even before the job has noted it. */
const statusSql =
  "CASE WHEN a.status = 'pending' AND a.expires_at <= clock_timestamp() THEN 'expired' ELSE a.status END";

const columns = `a.id, a.account_id, a.key_id, k.name AS key_name, encode(a.digest, 'hex') AS digest,
  encode(a.shown, 'hex') AS shown_hash, ${statusSql} AS status, a.created_at, a.expires_at,
  coalesce(a.decided_at, CASE WHEN a.expires_at <= clock_timestamp() THEN a.expires_at END) AS decided_at, a.reason, a.granted, a.sealed`;

export async function selectApprovals(
  db: Queryable,
  secrets: Secrets,
  where: string,
  values: readonly unknown[],
): Promise<Approval[]> {
  const { rows } = await db.query<ApprovalRow>(
    `SELECT ${columns} FROM approvals a JOIN api_keys k ON k.id = a.key_id ${where}`,
    values,
  );
  return rows.map(({ sealed, ...row }) => ({ ...row, ...(JSON.parse(secrets.open('approvals', sealed)) as Kept) }));
}

/** SQL for the approval `a` of the key `k`: whether the key with the id `caller` has asked for it, or is above the one that did. */
export function isVisibleTo(caller: string): string {
  return `EXISTS (SELECT FROM api_keys c WHERE c.id = ${caller} AND c.account_id = a.account_id AND c.place = ANY (k.path))`;
}

export function sealKept(secrets: Secrets, kept: Kept | KeptRequest): Buffer {
  return secrets.seal('approvals', JSON.stringify(kept));
}

interface Ending {
  readonly id: string;
  readonly status: Exclude<ApprovalStatus, 'pending'>;
  readonly sessionId?: string | undefined;
  readonly reason?: FailureReason | undefined;
  readonly granted?: readonly Granted[] | undefined;
}

/** The topic of the wakes that ends the waiting for a decision. */
export function topicOf(id: string): string {
  return `approval:${id}`;
}

/**
 * Ends a pending approval, in the caller's commit. False when it has ended before, or has expired: then only `expired` ends it.
 */
export async function endApproval(tx: Transaction, { id, status, ...by }: Ending): Promise<boolean> {
  // As everything that ends approvals or sessions does, so that they follow one another.
  await tx.query('SELECT FROM accounts WHERE id = (SELECT account_id FROM approvals WHERE id = $1) FOR NO KEY UPDATE', [
    id,
  ]);
  const inTime = status === 'expired' ? 'expires_at <= clock_timestamp()' : 'expires_at > clock_timestamp()';
  const { rows } = await tx.query<{ accountId: bigint }>(
    `UPDATE approvals SET status = $2, decided_at = clock_timestamp(), session_id = $3, reason = $4, granted = $5,
            sealed_request = CASE WHEN $2 = 'executed' THEN sealed_request END
      WHERE id = $1 AND status = 'pending' AND ${inTime} RETURNING account_id`,
    [
      id,
      status,
      by.sessionId ?? null,
      by.reason && JSON.stringify(by.reason),
      by.granted && JSON.stringify(by.granted),
    ],
  );
  const [row] = rows;
  if (row === undefined) return false;
  await recordEvent(tx, { accountId: row.accountId, type: `approval.${status}`, data: { approvalId: id, status } });
  await tx.query("SELECT pg_notify('paywright_work', $1)", [topicOf(id)]);
  return true;
}

/** For events and for the answer to the request. */
export function describeQuestion(
  { id, expiresAt, shown }: Pick<Approval, 'id' | 'expiresAt' | 'shown'>,
  publicUrl: string,
) {
  return {
    approvalId: id,
    url: `${publicUrl}/approve/${id}`,
    expiresAt: expiresAt.toISOString(),
    summary: sayTerms(shown.terms),
  };
}
