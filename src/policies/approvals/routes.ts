import { z } from 'zod';
import type { Queryable, ReadDatabase } from '../../kernel/db/database.ts';
import { holding } from '../../kernel/http/amount-field.ts';
import { type Caller, defineRoute, ok, type Route } from '../../kernel/http/define-route.ts';
import { idParameter } from '../../kernel/http/find-route.ts';
import { listRoute } from '../../kernel/http/list-route.ts';
import { createLongPoll, waitField } from '../../kernel/http/long-poll.ts';
import type { Wakes } from '../../kernel/jobs/wakes.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';
import { operations } from '../consent.ts';
import { type Approval, approvalStatuses, endApproval, isVisibleTo, selectApprovals, topicOf } from './approval.ts';
import { type DecideParts, findResult } from './decide.ts';
import { approvalErrors } from './errors.ts';
import { sayTerms } from './terms.ts';

const tag = 'Approvals';

const approvalRecord = z.object({
  id: z.string(),
  status: z.enum(approvalStatuses).meta({
    description:
      '`pending`: the owner has not decided. `executed`: approved, and paid in the same commit; an order, withdrawal, swap or other slow operation has begun. `denied`: by the owner. `expired`: nobody decided in time. `cancelled`: by a key. `failed`: approved, but the payment became impossible; `reason` says why. Only `executed` has moved money.',
  }),
  terminal: z.boolean().meta({ description: 'Whether the status is final.' }),
  key: z.string().meta({ description: 'The key that asked.' }),
  operation: z.enum(operations),
  amount: z.string().meta({ description: 'Everything that leaves the balance, fees included.' }),
  currency: holding,
  summary: z.string().meta({ description: 'The payment in words.' }),
  facts: z
    .array(z.object({ label: z.string(), text: z.string() }))
    .meta({ description: 'What else the owner is shown.' }),
  budgets: z
    .array(
      z.object({
        key: z.string(),
        id: z.string(),
        currency: z.string(),
        limit: z.string(),
        before: z.string(),
        after: z.string(),
        beyond: z.string().nullable(),
      }),
    )
    .meta({
      description:
        'What was spent of each budget before the payment, as it was when the owner was asked, and what will be after it. `beyond` is what the owner would give in addition.',
    }),
  note: z.string().nullable().meta({ description: 'The `note` of the request.' }),
  digest: z.string().meta({
    description: 'The SHA-256 of the operation as it was resolved. Asking for the same again returns this approval.',
  }),
  url: z.string(),
  createdAt: z.iso.datetime(),
  expiresAt: z.iso.datetime(),
  decidedAt: z.iso.datetime().nullable(),
  reason: z.object({ code: z.string(), detail: z.string() }).nullable(),
  granted: z
    .array(z.object({ key: z.string(), id: z.string(), amount: z.string() }))
    .nullable()
    .meta({ description: 'Once executed: what the owner gave beyond each budget, such as "3 USDC".' }),
});

const approvalDetail = approvalRecord.extend({
  result: z.object({ status: z.int(), body: z.unknown() }).nullable().meta({
    description: 'Once executed: the response of the payment itself, as a retry with its Idempotency-Key gets it.',
  }),
});

const example: z.input<typeof approvalRecord> = {
  id: 'apr_01kp3v2m8rfk2s6y0e6v9q4w1x',
  status: 'pending',
  terminal: false,
  key: 'key_01kp3v2m8rfk2s6y0e6v9q4w1x',
  operation: 'transfer',
  amount: '8',
  currency: 'USDC',
  summary: 'Transfer 8 USDC to Grace Hopper (PA-7K2M9QXA)',
  facts: [{ label: 'Fee', text: '0.12 USDC, paid by the recipient' }],
  budgets: [
    {
      key: 'key_01kp3v2m8rfk2s6y0e6v9q4w1x',
      id: 'daily',
      currency: 'USDC',
      limit: '20',
      before: '3',
      after: '11',
      beyond: null,
    },
  ],
  note: 'The invoice of last week.',
  digest: '5f2b1c0a9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a3b2c1d0e9f8a7b6c5d4e3f2a',
  url: 'https://pay.example.com/approve/apr_01kp3v2m8rfk2s6y0e6v9q4w1x',
  createdAt: '2026-01-15T10:00:00.000Z',
  expiresAt: '2026-01-15T10:10:00.000Z',
  decidedAt: null,
  reason: null,
  granted: null,
};

function describeApproval(approval: Approval, publicUrl: string): z.input<typeof approvalRecord> {
  const { id, status, keyId, shown, note, digest, createdAt, expiresAt, decidedAt, reason, granted } = approval;
  const { terms, budgets } = shown;
  return {
    id,
    status,
    terminal: isTerminal(approval),
    key: keyId,
    operation: terms.operation,
    amount: terms.amount.slice(0, -terms.currency.length - 1),
    currency: terms.currency as z.input<typeof holding>,
    summary: sayTerms(terms),
    facts: terms.facts.map(({ label, text }) => ({ label, text })),
    budgets: budgets.map((budget) => ({ ...budget })),
    note,
    digest,
    url: `${publicUrl}/approve/${id}`,
    createdAt: createdAt.toISOString(),
    expiresAt: expiresAt.toISOString(),
    decidedAt: decidedAt?.toISOString() ?? null,
    reason,
    granted: granted?.map((one) => ({ ...one })) ?? null,
  };
}

function isTerminal({ status }: Approval): boolean {
  return status !== 'pending';
}

export interface ApprovalParts extends DecideParts {
  readonly readDb: ReadDatabase;
  readonly wakes: Wakes;
  /** Aborted when the process begins to stop. */
  readonly stopping: AbortSignal;
  readonly publicUrl: () => string;
}

export function approvalRoutes(parts: ApprovalParts): Route[] {
  return [listApprovals(parts), getApproval(parts), cancelApproval(parts)];
}

const visible = isVisibleTo('$2');

function listApprovals({ readDb, secrets, publicUrl }: ApprovalParts): Route {
  return listRoute({
    id: 'listApprovals',
    path: '/approvals',
    tag,
    summary: 'List approvals',
    description:
      'The payments that this key, and the keys below it, asked the owner to approve. An approval is kept for 30 days.',
    name: 'approvals',
    item: approvalRecord,
    example,
    filters: { status: z.enum(approvalStatuses).optional() },
    cursorPrefix: 'apr',
    rows: ({ caller, cursor, status, limit }) =>
      selectApprovals(
        readDb,
        secrets,
        `WHERE a.account_id = $1 AND ${visible} AND ($3::text IS NULL OR a.id < $3)
            AND ($4::text IS NULL OR CASE WHEN a.status = 'pending' AND a.expires_at <= clock_timestamp() THEN 'expired' ELSE a.status END = $4)
          ORDER BY a.id DESC LIMIT $5`,
        [caller.accountId, caller.keyId, cursor ?? null, status ?? null, limit + 1],
      ),
    describe: (approval) => describeApproval(approval, publicUrl()),
  });
}

function getApproval(parts: ApprovalParts): Route {
  const { db, secrets, wakes, stopping, publicUrl } = parts;
  const wait = createLongPoll(wakes, stopping);
  return defineRoute(
    {
      id: 'getApproval',
      method: 'GET',
      path: '/approvals/:id',
      tag,
      summary: 'Retrieve an approval, or wait for its decision',
      description:
        'With `wait`, the response comes as soon as the approval has ended, or after that many seconds. Once it is executed, `result` holds the response of the payment.',
      auth: 'key',
      scope: 'read',
      params: z.strictObject({ id: idParameter }),
      query: z.strictObject({
        wait: waitField.meta({ description: 'How many seconds to wait for the decision, 0 to 30.' }),
      }),
      examples: { params: { id: example.id }, query: { wait: '30' } },
      returns: {
        200: { description: 'The approval', schema: approvalDetail, example: { ...example, result: null } },
      },
      final: ['executed', 'denied', 'expired', 'cancelled', 'failed'],
      errors: [approvalErrors.approval_not_found],
    },
    async ({ caller, params: { id }, query: { wait: seconds }, gone }) => {
      const find = () => findVisible(db, secrets, caller, id);
      let approval = await find();
      if (seconds > 0 && !isTerminal(approval)) {
        const ms = Math.min(seconds * 1_000, approval.expiresAt.getTime() - Date.now());
        const waiting = { topic: topicOf(id), accountId: caller.accountId, ms, gone };
        await wait(waiting, async () => isTerminal(await find()));
        approval = await find();
      }
      const result = approval.status === 'executed' ? await findResult(parts, approval) : null;
      return ok({ ...describeApproval(approval, publicUrl()), result });
    },
  );
}

async function findVisible(
  db: Queryable,
  secrets: Secrets,
  { accountId, keyId }: Caller,
  id: string,
): Promise<Approval> {
  const [found] = await selectApprovals(db, secrets, `WHERE a.account_id = $1 AND ${visible} AND a.id = $3`, [
    accountId,
    keyId,
    id,
  ]);
  if (found === undefined) throw approvalErrors.approval_not_found();
  return found;
}

function cancelApproval({ db, secrets, publicUrl }: ApprovalParts): Route {
  return defineRoute(
    {
      id: 'cancelApproval',
      method: 'POST',
      path: '/approvals/:id/cancel',
      tag,
      summary: 'Cancel an approval',
      description: 'By the key that asked, or a key above it. Only while it is pending.',
      auth: 'key',
      scope: 'pay',
      params: z.strictObject({ id: idParameter }),
      examples: { params: { id: example.id } },
      returns: {
        200: {
          description: 'The cancelled approval',
          schema: approvalRecord,
          example: { ...example, status: 'cancelled', terminal: true, decidedAt: '2026-01-15T10:04:00.000Z' },
        },
      },
      errors: [approvalErrors.approval_not_found, approvalErrors.approval_not_pending],
    },
    async ({ caller, params: { id } }) => {
      const cancelled = await db.transaction(async (tx) => {
        await findVisible(tx, secrets, caller, id);
        if (!(await endApproval(tx, { id, status: 'cancelled' }))) throw approvalErrors.approval_not_pending();
        return findVisible(tx, secrets, caller, id);
      });
      return ok(describeApproval(cancelled, publicUrl()));
    },
  );
}
