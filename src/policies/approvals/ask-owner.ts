import { findOwner, mailOwner } from '../../accounts/mail-owner.ts';
import { countToday, dailyCapErrors } from '../../kernel/daily-caps/count-today.ts';
import type { Database, Transaction } from '../../kernel/db/database.ts';
import type { Caller } from '../../kernel/http/define-route.ts';
import { Problem } from '../../kernel/http/problem.ts';
import { repeatRequest } from '../../kernel/http/repeat-request.ts';
import type { AskOwner, RefusedRequest } from '../../kernel/http/run-route.ts';
import { newId } from '../../kernel/ids/ids.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';
import { balanceErrors } from '../../ledger/balance-errors.ts';
import { recordEvent } from '../../ledger/events.ts';
import type { Authority } from '../../ledger/posting.ts';
import { requireLiveKey } from '../../ledger/require-live-key.ts';
import type { ApprovalCase, JudgedPayment } from '../approval-case.ts';
import { type Approval, describeQuestion, sealKept, selectApprovals } from './approval.ts';
import { approvalErrors } from './errors.ts';
import { expireApproval, expireLater } from './expire.ts';
import { digestOf, hashOfShown, type Shown, sayTerms, shownOf, termsOf } from './terms.ts';

export interface AskOwnerParts {
  readonly db: Database;
  readonly secrets: Secrets;
  readonly publicUrl: () => string;
}

/** Finds out what exactly is asked. A payment that no policy asks about any more is made. */
class Asking implements ApprovalCase {
  shown: Shown | undefined;
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  begin(): void {}

  async consentTo(judged: JudgedPayment): Promise<Authority> {
    const { outcome, stamp, spends, budgets } = judged;
    const isCovered = spends.every(
      ({ budget, amount }) => (budgets.find((one) => one.budget === budget)?.remaining.atomic ?? 0n) >= amount,
    );
    if (outcome === 'allow' && isCovered) return { stamp, spends };
    await judged.payment.refuseRepeated?.();
    this.shown = shownOf(await termsOf(this.#db, judged), judged);
    throw balanceErrors.approval_required();
  }
}

/**
 * A payment that a policy asks about becomes an approval: the request runs once more, to see what exactly it would pay, and is kept
 * until the owner has decided. Nothing is held meanwhile.
 */
export function createAskOwner(parts: AskOwnerParts): AskOwner {
  return async (refusal, refused) => {
    if (!isQuestion(refusal)) throw refusal;
    const { route, request, caller } = refused;
    const asking = new Asking(parts.db);
    const { stamp: _, ...known } = caller;
    try {
      return await repeatRequest(route, request, { ...known, approval: asking }, parts.secrets);
    } catch (error) {
      const { shown } = asking;
      if (!isQuestion(error) || shown === undefined) throw error;
      const approval = await parts.db
        .transaction((tx) => openApproval(tx, parts, refused, shown), { kind: 'approvals' })
        .catch((noMore: unknown) => {
          throw recordedLike(refusal, noMore);
        });
      // Recorded as a decision, like a refusal that a client is answered with.
      if (refusal instanceof Problem) refusal.whenSent?.();
      const body = { status: 'approval_required' as const, ...describeQuestion(approval, parts.publicUrl()) };
      return { status: 202, body };
    }
  };
}

/** A policy asked, also when the owner has too many questions already. */
function recordedLike(refusal: unknown, noMore: unknown): unknown {
  const { whenSent } = refusal instanceof Problem ? refusal : {};
  if (noMore instanceof Problem && tooMany.has(noMore.code) && whenSent !== undefined) noMore.whenSent = whenSent;
  return noMore;
}

const tooMany: ReadonlySet<string> = new Set([
  approvalErrors.too_many_approvals.code,
  dailyCapErrors.daily_cap_reached.code,
]);

function isQuestion(error: unknown): boolean {
  return error instanceof Problem && error.code === balanceErrors.approval_required.code;
}

type Opened = Pick<Approval, 'id' | 'expiresAt' | 'shown'>;

/** The same operation, asked again by the same key while it is pending, is the same approval. */
async function openApproval(
  tx: Transaction,
  { secrets, publicUrl }: AskOwnerParts,
  { request, caller }: RefusedRequest,
  shown: Shown,
): Promise<Opened> {
  // Locks the owner's row, so two requests do not both open one.
  await requireLiveKey(tx, caller);
  const { accountId, keyId } = caller;
  const place = await placeOf(tx, keyId);
  const digest = digestOf(place, shown.terms, request.body);
  const [pending] = await selectApprovals(
    tx,
    secrets,
    "WHERE a.place = $1 AND a.digest = $2 AND a.status = 'pending'",
    [place, digest],
  );
  if (pending !== undefined && pending.status === 'pending') return pending;
  if (pending !== undefined) await expireApproval(tx, pending.id);
  await refuseTooMany(tx, accountId);
  await countToday(tx, caller, 'approvals');
  const approval = { id: newId('apr'), shown };
  const { rows } = await tx.query<{ expiresAt: Date }>(
    `INSERT INTO approvals (id, account_id, key_id, place, digest, shown, sealed, sealed_request, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, clock_timestamp() + interval '10 minutes') RETURNING expires_at`,
    [
      approval.id,
      accountId,
      keyId,
      place,
      digest,
      hashOfShown(shown),
      sealKept(secrets, { shown, note: noteOf(request.body) }),
      sealKept(secrets, request),
    ],
  );
  const opened = { ...approval, expiresAt: rows[0]?.expiresAt as Date };
  await expireLater(tx, approval.id);
  const question = describeQuestion(opened, publicUrl());
  await recordEvent(tx, { accountId, type: 'approval.requested', data: { ...question, status: 'pending' } });
  await mailQuestion(tx, secrets, caller, opened, question.url);
  return opened;
}

async function placeOf(tx: Transaction, keyId: string): Promise<string> {
  const { rows } = await tx.query<{ place: string }>('SELECT place FROM api_keys WHERE id = $1', [keyId]);
  return rows[0]?.place ?? keyId;
}

/** More than a person decides in ten minutes. */
const mostPending = 20;

async function refuseTooMany(tx: Transaction, accountId: bigint): Promise<void> {
  const { rowCount } = await tx.query(
    "SELECT FROM approvals WHERE account_id = $1 AND status = 'pending' AND expires_at > clock_timestamp() LIMIT $2",
    [accountId, mostPending],
  );
  if ((rowCount ?? 0) >= mostPending) throw approvalErrors.too_many_approvals();
}

function noteOf(body: unknown): string | null {
  const given = (body as { readonly note?: unknown } | undefined)?.note;
  return typeof given === 'string' ? given.trim() : null;
}

async function mailQuestion(
  tx: Transaction,
  secrets: Secrets,
  { accountId, keyId }: Caller,
  { shown: { terms } }: Opened,
  url: string,
): Promise<void> {
  if ((await findOwner(tx, accountId)) === undefined) return;
  await mailOwner(tx, secrets, accountId, {
    subject: 'A payment waits for your approval',
    text: `The API key ${keyId} asks you to approve: ${sayTerms(terms)}.\n\nDecide within ten minutes at ${url}`,
  });
}
