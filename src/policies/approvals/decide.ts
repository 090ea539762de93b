import { recordAudit } from '../../accounts/audit/record.ts';
import { type Database, onlyRow } from '../../kernel/db/database.ts';
import type { Caller, Route } from '../../kernel/http/define-route.ts';
import { httpErrors } from '../../kernel/http/errors.ts';
import { Problem } from '../../kernel/http/problem.ts';
import { type KeptRequest, type RouteAnswer, readKept, repeatRequest } from '../../kernel/http/repeat-request.ts';
import { type Checkpoint, noCheckpoint } from '../../kernel/sagas/checkpoint.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';
import { findKey } from '../../ledger/idempotency.ts';
import type { ApprovalCase } from '../approval-case.ts';
import { type Approval, endApproval, type FailureReason, findRequest, sealKept, selectApprovals } from './approval.ts';
import { type Decider, Executing, NotExecuted } from './execute.ts';
import { digestOf, hashOfShown } from './terms.ts';

export interface DecideParts {
  readonly db: Database;
  readonly secrets: Secrets;
  readonly checkpoint?: Checkpoint;
  /** All routes of the service. */
  readonly routes: () => readonly Route[];
}

export type Decision =
  | { readonly decision: 'executed' }
  /** The facts have changed: nothing was paid, and the approval shows the new ones. */
  | { readonly decision: 'changed'; readonly changes: readonly string[] }
  /** It can be tried again. */
  | { readonly decision: 'refused'; readonly reason: string }
  | { readonly decision: 'failed' }
  | { readonly decision: 'not_pending' }
  | { readonly decision: 'not_proved' };

export async function findOwnApproval(
  { db, secrets }: Pick<DecideParts, 'db' | 'secrets'>,
  { accountId, id }: { readonly accountId: bigint; readonly id: string },
): Promise<Approval | undefined> {
  const [found] = await selectApprovals(db, secrets, 'WHERE a.id = $1 AND a.account_id = $2', [id, accountId]);
  return found;
}

/**
 * Runs the request of the approval again, as the key that sent it. The payment is made in one commit with the decision, or not at
 * all: any decision but `executed` has paid nothing. Throws OutcomeUnknown when the answer of the commit was lost.
 */
export async function approve(
  parts: DecideParts,
  decider: Decider,
  { id, shownHash }: { readonly id: string; readonly shownHash: string },
): Promise<Decision> {
  const approval = await findOwnApproval(parts, { accountId: decider.accountId, id });
  if (approval?.status !== 'pending') return { decision: 'not_pending' };
  if (approval.shownHash !== shownHash) return { decision: 'changed', changes: [] };
  const { caller, isLive } = await findCaller(parts.db, approval);
  if (!isLive) return fail(parts, approval, keyEnded);
  const { checkpoint = noCheckpoint } = parts;
  const kept = await findKept(parts, approval);
  if (kept === undefined) return { decision: 'not_pending' };
  const executing = new Executing({ ...parts, checkpoint }, approval, decider);
  checkpoint('approval.begun');
  try {
    const answer = await repeatRequest(kept.route, kept.request, { ...caller, approval: executing }, parts.secrets);
    checkpoint('approval.executed');
    return (await isExecuted(parts, approval)) ?? fail(parts, approval, answeredOtherwise(answer));
  } catch (error) {
    return (await isExecuted(parts, approval)) ?? explain(parts, approval, { now: executing.now, error });
  }
}

/** The saga of an executed payment may have failed since, and the request with it. The approval is executed all the same. */
async function isExecuted(parts: DecideParts, { id, accountId }: Approval): Promise<Decision | undefined> {
  const found = await findOwnApproval(parts, { accountId, id });
  return found?.status === 'executed' ? { decision: 'executed' } : undefined;
}

async function explain(
  parts: DecideParts,
  approval: Approval,
  { now, error }: { readonly now: Executing['now']; readonly error: unknown },
): Promise<Decision> {
  if (error instanceof NotExecuted) {
    if (error.why !== 'changed') return { decision: error.why };
    // Something changed during the commit. Another click sees it.
    if (now === undefined) return { decision: 'changed', changes: [] };
    await showAgain(parts, approval, now.shown);
    return { decision: 'changed', changes: now.changes };
  }
  if (!(error instanceof Problem)) throw error;
  if (isFinal(error)) return fail(parts, approval, { code: error.code, detail: error.message });
  return { decision: 'refused', reason: error.message };
}

/** Trying again cannot help: the key has ended, or what was to be paid is gone, was paid or has another price. */
function isFinal({ status, code }: Problem): boolean {
  if (code === httpErrors.idempotency_in_progress.code) return false;
  return status === 401 || status === 404 || status === 409 || status === 410 || status === 422;
}

const keyEnded: FailureReason = {
  code: httpErrors.unauthorized.code,
  detail: 'The API key that asked for the payment was revoked, or has expired.',
};

function answeredOtherwise(answer: RouteAnswer): FailureReason {
  if ('replayed' in answer)
    return { code: 'already_made', detail: 'The payment was made before, by a request with the same Idempotency-Key.' };
  return { code: 'nothing_to_pay', detail: 'The request was answered, and nothing had to be paid for it.' };
}

async function fail({ db }: DecideParts, { id }: Approval, reason: FailureReason): Promise<Decision> {
  const hasFailed = await db.transaction((tx) => endApproval(tx, { id, status: 'failed', reason }));
  return { decision: hasFailed ? 'failed' : 'not_pending' };
}

/** The owner decides about the new facts, which have to be shown first. */
async function showAgain(
  { db, secrets }: DecideParts,
  { id, shownHash, note }: Approval,
  shown: Approval['shown'],
): Promise<void> {
  const { rows } = await db.query<{ place: string }>('SELECT place FROM approvals WHERE id = $1', [id]);
  const request = await findRequest(db, secrets, { id });
  const digest = digestOf(rows[0]?.place ?? '', shown.terms, request?.body);
  await db.query(
    `UPDATE approvals a SET shown = $3, sealed = $4, digest = CASE WHEN EXISTS (
         SELECT FROM approvals o WHERE o.place = a.place AND o.digest = $5 AND o.status = 'pending') THEN a.digest ELSE $5 END
      WHERE id = $1 AND status = 'pending' AND shown = decode($2, 'hex')`,
    [id, shownHash, hashOfShown(shown), sealKept(secrets, { shown, note }), digest],
  );
}

/** False when the approval has ended before. */
export async function deny(
  { db }: Pick<DecideParts, 'db'>,
  { sessionId, accountId, address }: Decider,
  id: string,
): Promise<boolean> {
  return db.transaction(async (tx) => {
    if (!(await endApproval(tx, { id, status: 'denied', sessionId }))) return false;
    await recordAudit(tx, { accountId, action: 'approval.denied', by: { address }, details: { approval: id } });
    return true;
  });
}

/** As the key ring finds it, without the policies that it last knew. */
async function findCaller(
  db: Database,
  { accountId, keyId }: Approval,
): Promise<{ readonly caller: Caller; readonly isLive: boolean }> {
  const found = await db.query<Omit<Caller, 'bucket'> & { readonly isLive: boolean }>(
    `SELECT k.account_id, k.id AS key_id, a.handle, a.tier, k.scopes, a.duplicate_guard,
            k.revoked_at IS NULL AND a.closed_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp()) AS is_live
       FROM api_keys k JOIN accounts a ON a.id = k.account_id WHERE k.id = $1 AND k.account_id = $2`,
    [keyId, accountId],
  );
  const { isLive, ...key } = onlyRow(found);
  return { caller: { ...key, bucket: `account:${accountId}` }, isLive };
}

interface Kept {
  readonly route: Route;
  readonly request: KeptRequest;
}

/** The payment belongs to the Idempotency-Key of the request, and without one to the approval. */
async function findKept({ db, routes, secrets }: DecideParts, approval: Approval): Promise<Kept | undefined> {
  const request = await findRequest(db, secrets, approval);
  if (request === undefined) return undefined;
  const route = routes().find(({ spec }) => spec.id === request.routeId);
  if (route === undefined) throw new Error(`there is no operation ${request.routeId}`);
  return { route, request: { ...request, idempotencyKey: request.idempotencyKey ?? approval.id } };
}

/** Consents to nothing, so that only the stored answer of an executed payment is found. */
const replaying: ApprovalCase = {
  begin() {
    throw new NotExecuted('not_pending');
  },
  consentTo(): Promise<never> {
    throw new NotExecuted('not_pending');
  },
};

/** What the executed payment answered. Null when that is not kept any more, as after 48 hours, or with a call that came to nothing. */
export async function findResult(parts: DecideParts, approval: Approval): Promise<RouteAnswer | null> {
  const kept = await findKept(parts, approval);
  const { caller } = await findCaller(parts.db, approval);
  if (kept === undefined || !(await isKept(parts, approval, kept))) return null;
  try {
    const { status, body } = await repeatRequest(
      kept.route,
      kept.request,
      { ...caller, approval: replaying },
      parts.secrets,
    );
    return { status, body };
  } catch (error) {
    if (error instanceof Problem && error.code === httpErrors.idempotency_in_progress.code) return null;
    if (error instanceof Problem) return { status: error.status, body: toBody(error) };
    if (error instanceof NotExecuted) return null;
    throw error;
  }
}

/** Without a stored answer the handler would begin the payment again, and ask a shop or a seller. */
async function isKept(
  { db, secrets }: DecideParts,
  { accountId }: Approval,
  { route, request }: Kept,
): Promise<boolean> {
  const { idempotency } = readKept(route, request, secrets);
  return idempotency !== undefined && (await findKey(db, { accountId, ...idempotency })).holder === 'this';
}

function toBody({ code, title, message, status, extras }: Problem) {
  return { code, title, status, detail: message, ...extras.members };
}
