import { findSuccessor } from '../../accounts/keys/key-tree.ts';
import { type Approval, selectApprovals } from '../../policies/approvals/approval.ts';
import { approve, type DecideParts, type Decision, deny, findOwnApproval } from '../../policies/approvals/decide.ts';
import { approvalErrors } from '../../policies/approvals/errors.ts';
import type { Decider } from '../../policies/approvals/execute.ts';
import { type BudgetEffect, type KeptFact, sayTerms } from '../../policies/approvals/terms.ts';
import { dateTimeText, timeOfDay } from '../format.ts';
import { type Html, html } from '../html.ts';
import type { PageContext } from '../layout.ts';
import type { KeyPageParts } from './keys/key-parts.ts';
import type { OwnerPage, Shell, Visit } from './shell.ts';

export interface ApprovePageParts extends DecideParts, Pick<KeyPageParts, 'clock' | 'idleMs'> {
  readonly context: () => PageContext;
}

/** Where the owner decides about a payment that a policy asks about. The page of an approval is in the email and in the agent's answer. */
export function addApprovePages(shell: Shell, parts: ApprovePageParts): void {
  const { context } = parts;

  shell.page('/app/approvals', async ({ session: { accountId } }) => {
    const { base } = context();
    const approvals = await selectApprovals(
      parts.db,
      parts.secrets,
      'WHERE a.account_id = $1 ORDER BY a.id DESC LIMIT 50',
      [accountId],
    );
    const [pending, ended] = [true, false].map((is) => approvals.filter(({ status }) => (status === 'pending') === is));
    const body = html`<h1>Approvals</h1>
<p class="lead">Payments that your rules ask you about. Nobody is paid before you approve.</p>
${lines(pending ?? [], base) ?? html`<p class="empty">Nothing waits for you.</p>`}
${(ended ?? []).length > 0 && html`<h2>Decided</h2>${lines(ended ?? [], base)}`}`;
    return { title: 'Approvals', place: '/app/approvals', body };
  });

  async function find({ session: { accountId }, params: { id = '' } }: Visit): Promise<Approval> {
    const approval = await findOwnApproval(parts, { accountId, id });
    if (approval === undefined)
      throw approvalErrors.approval_not_found('Your account has no approval at this address.');
    return approval;
  }

  async function approvalPage(visit: Visit, notice?: string): Promise<OwnerPage> {
    const approval = await find(visit);
    const { accountId, keyId: id } = approval;
    const { db, clock, idleMs } = parts;
    const key = await findSuccessor(db, { accountId, id, clock, idleMs });
    return describeApproval(approval, visit, { context: context(), key, notice });
  }

  shell.page('/approve/:id', (visit) => approvalPage(visit));

  shell.form(
    '/approve/:id',
    async (visit, { shown = '' }) => {
      const { id } = await find(visit);
      const decision = await approve(parts, deciderOf(visit), { id, shownHash: shown });
      if (decision.decision === 'not_proved') return `/app/confirm?next=/approve/${id}`;
      const notice = explain(decision);
      if (notice === undefined) return `/approve/${id}`;
      return { ...(await approvalPage(visit, notice)), status: 409 };
    },
    { proof: true },
  );

  shell.form('/approve/:id/deny', async (visit) => {
    const { id } = await find(visit);
    await deny(parts, deciderOf(visit), id);
    return `/approve/${id}`;
  });
}

function deciderOf({ session, address }: Visit): Decider {
  return { sessionId: session.id, accountId: session.accountId, address };
}

/** What stands above the facts. Undefined where the state of the approval says it all. */
function explain(decision: Decision): string | undefined {
  switch (decision.decision) {
    case 'changed':
      return decision.changes.length === 0
        ? 'Something changed since you opened this page. Nothing was paid. Check the payment below and decide again.'
        : `Changed since you opened this page: ${decision.changes.join(', ')}. Nothing was paid. Check the payment below and decide again.`;
    case 'refused':
      return `Nothing was paid. ${decision.reason}`;
    default:
      return undefined;
  }
}

function lines(approvals: readonly Approval[], base: string): Html | undefined {
  if (approvals.length === 0) return undefined;
  return html`<ul class="lines">${approvals.map(
    ({ id, shown, status, createdAt, expiresAt }) =>
      html`<li><a class="who" href="${base}/approve/${id}">${sayTerms(shown.terms)}</a>
<span class="tag">${status}</span>
<span class="note">${status === 'pending' ? html`Until ${timeOfDay(expiresAt)}` : dateTimeText(createdAt)}</span></li>`,
  )}</ul>`;
}

interface Shown {
  readonly context: PageContext;
  /** The id of the key that has the place of the one that asked. Undefined when it has ended. */
  readonly key: string | undefined;
  readonly notice: string | undefined;
}

function describeApproval(approval: Approval, visit: Visit, { context, key, notice }: Shown): OwnerPage {
  const { status, shown, note, keyId, keyName } = approval;
  const { terms, rule, budgets } = shown;
  const { base } = context;
  const whose = rule?.key === keyId ? 'its policy' : `the policy of the key ${rule?.key}`;
  const body = html`<h1>${status === 'pending' ? 'Approve this payment?' : headings[status]}</h1>
${notice !== undefined && html`<p class="notice" role="alert">${notice}</p>`}
${status !== 'pending' && html`<p class="lead">${ending(approval)}</p>`}
<p class="total">${terms.amount}</p>
<p class="payee">${sayTerms(terms)}</p>
<dl class="terms">${terms.to !== null && fact({ label: labelOfPayee(terms.operation), text: terms.to })}${terms.facts.map(fact)}</dl>
<h2>Why you are asked</h2>
<dl class="terms">${fact({ label: 'Asked by', text: keyName ?? keyId })}${rule !== null && fact({ label: 'Rule', text: `Rule ${rule.index + 1} of ${whose} asks you first` })}${budgets.map(budgetFact)}</dl>
${key !== undefined && html`<p class="hint"><a href="${base}/app/keys/${key}">See the policy of this key</a></p>`}
${note !== null && html`<figure class="said"><figcaption>The agent’s own words, which nobody has checked</figcaption><blockquote>${note}</blockquote></figure>`}
${status === 'pending' && decisionForms(approval, visit, base)}`;
  return { title: 'Approval', place: '/app/approvals', body };
}

const headings = {
  executed: 'Approved',
  denied: 'Denied',
  expired: 'Expired',
  cancelled: 'Cancelled',
  failed: 'Not paid',
} as const;

function ending({ status, shown, reason, decidedAt, granted }: Approval): Html {
  const at = decidedAt !== null && html` ${dateTimeText(decidedAt)}.`;
  switch (status) {
    case 'executed':
      return html`${begun.has(shown.terms.operation) ? 'The money was set aside, and the payment has begun.' : 'The payment was made.'}${at}${granted !== null && granted.length > 0 && html` You gave ${granted.map(({ amount, id }) => `${amount} beyond the budget ${id}`).join(' and ')}.`}`;
    case 'denied':
      return html`You denied the payment. Nothing was paid.${at}`;
    case 'expired':
      return html`Nobody decided within ten minutes. Nothing was paid. Your agent can ask again.`;
    case 'cancelled':
      return html`An API key of yours cancelled the question. Nothing was paid.${at}`;
    default:
      return html`The payment became impossible, and nothing was paid. ${reason?.detail}${at}`;
  }
}

/** Operations that go on after the commit. */
const begun: ReadonlySet<string> = new Set(['withdraw', 'bridge', 'swap', 'order', 'call']);

function labelOfPayee(operation: string): string {
  const labels: Readonly<Record<string, string>> = { order: 'Shop', withdraw: 'Address', call: 'Host' };
  return labels[operation] ?? 'Recipient';
}

function fact({ label, text, quoted }: KeptFact): Html {
  return html`<div><dt>${label}</dt><dd>${quoted ? html`<q>${text}</q>` : text}</dd></div>`;
}

function budgetFact({ id, currency, limit, before, after, beyond }: BudgetEffect): Html {
  const text = `${before} → ${after} of ${limit} ${currency}${beyond === null ? '' : `, and ${beyond} beyond it that you would give once`}`;
  return fact({ label: `Budget ${id}`, text });
}

function decisionForms({ id, shown, shownHash, expiresAt }: Approval, { session, field }: Visit, base: string): Html {
  const act = html`Approve and pay ${shown.terms.amount}`;
  return html`<div class="decide">
${
  session.isProved
    ? html`<form method="post" action="${base}/approve/${id}">${field}<input type="hidden" name="shown" value="${shownHash}"><button class="button">${act}</button></form>`
    : html`<a class="button" href="${base}/app/confirm?next=/approve/${id}">Enter your password to approve</a>`
}
<form method="post" action="${base}/approve/${id}/deny">${field}<button class="button second">Deny</button></form>
</div>
<p class="hint">Nothing is paid unless you approve until ${timeOfDay(expiresAt)}. Approving pays exactly this, once.</p>`;
}
