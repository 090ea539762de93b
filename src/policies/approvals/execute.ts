import { recordAudit } from '../../accounts/audit/record.ts';
import { holdProvedSession } from '../../accounts/sessions/owner-session.ts';
import type { Database, Transaction } from '../../kernel/db/database.ts';
import type { Checkpoint } from '../../kernel/sagas/checkpoint.ts';
import type { Authority, Spend } from '../../ledger/posting.ts';
import { lockOwner } from '../../ledger/require-live-key.ts';
import { amountOf, toText } from '../../money/amount.ts';
import type { ApprovalCase, JudgedPayment } from '../approval-case.ts';
import { type BudgetState, listBudgets } from '../budget-states.ts';
import { type Approval, endApproval, type Granted } from './approval.ts';
import {
  type BudgetEffect,
  budgetsSince,
  changesSince,
  describePayee,
  missingOf,
  type Shown,
  shownOf,
  termsOf,
} from './terms.ts';

export interface Decider {
  readonly sessionId: string;
  readonly accountId: bigint;
  /** The owner's IP address. */
  readonly address: string;
}

/** Why an approved payment was not made, although nothing refused it. */
export class NotExecuted extends Error {
  override readonly name = 'NotExecuted';
  readonly why: 'changed' | 'not_pending' | 'not_proved';

  constructor(why: NotExecuted['why']) {
    super(`the approved payment was not made: ${why}`);
    this.why = why;
  }
}

interface ExecutingParts {
  readonly db: Database;
  readonly checkpoint: Checkpoint;
}

/** Consents to exactly what the owner was shown, in the commit that executes the approval. */
export class Executing implements ApprovalCase {
  /** What it would be now, if that is something else. */
  now: { readonly shown: Shown; readonly changes: readonly string[] } | undefined;
  readonly id: string;
  readonly #parts: ExecutingParts;
  readonly #approval: Approval;
  readonly #decider: Decider;

  constructor(parts: ExecutingParts, approval: Approval, decider: Decider) {
    this.id = approval.id;
    this.#parts = parts;
    this.#approval = approval;
    this.#decider = decider;
  }

  begin(): void {}

  async consentTo(judged: JudgedPayment): Promise<Authority> {
    const terms = await termsOf(this.#parts.db, judged);
    const { shown } = this.#approval;
    const now = shownOf(terms, judged);
    const changes = [
      ...changesSince(shown.terms, terms, judged.payment.facts?.() ?? []),
      ...budgetsSince(shown.budgets, now.budgets),
    ];
    if (changes.length > 0) {
      this.now = { shown: now, changes };
      throw new NotExecuted('changed');
    }
    return {
      stamp: judged.stamp,
      spends: judged.spends,
      inCommit: (tx) => this.#settle(tx, judged),
    };
  }

  /** The owner's payments wait from here on, so that budgets are what they are at the commit. */
  async #settle(tx: Transaction, { caller, payment, spends }: JudgedPayment): Promise<readonly Spend[]> {
    const { id, keyId, shown, shownHash } = this.#approval;
    const { accountId, sessionId, address } = this.#decider;
    await lockOwner(tx, accountId);
    if (!(await holdProvedSession(tx, { id: sessionId }))) throw new NotExecuted('not_proved');
    const { rowCount } = await tx.query(
      "SELECT FROM approvals WHERE id = $1 AND status = 'pending' AND shown = decode($2, 'hex') FOR UPDATE",
      [id, shownHash],
    );
    if (rowCount !== 1) throw new NotExecuted('not_pending');
    if ((await describePayee(tx, payment.counterparty)).to !== shown.terms.to) throw new NotExecuted('changed');
    this.#parts.checkpoint('approval.held');
    const { granted, taken } = within(spends, await listBudgets(tx, caller), shown.budgets);
    if (!(await endApproval(tx, { id, status: 'executed', sessionId, granted }))) throw new NotExecuted('not_pending');
    await recordAudit(tx, {
      accountId,
      action: 'approval.executed',
      by: { address },
      details: { approval: id, key: keyId, beyond: granted.map((one) => `${one.amount} of ${one.id}`) },
    });
    this.#parts.checkpoint('approval.settled');
    return taken;
  }
}

/** What a budget that asks does not cover is given by the owner, and not taken of it: at most what the page has said. */
function within(
  spends: readonly Spend[],
  budgets: readonly BudgetState[],
  shown: readonly BudgetEffect[],
): { readonly granted: readonly Granted[]; readonly taken: readonly Spend[] } {
  const granted: Granted[] = [];
  const taken = spends.map((spend) => {
    const budget = budgets.find((one) => one.budget === spend.budget);
    if (budget === undefined || budget.onExceed !== 'ask') return spend;
    const missing = missingOf(spend.amount, budget);
    if (missing === 0n) return spend;
    const { key, id } = budget;
    const most = BigInt(shown.find((one) => one.key === key && one.id === id)?.missing ?? 0);
    if (missing > most) throw new NotExecuted('changed');
    granted.push({ key, id, amount: toText(amountOf(budget.limit.asset, missing)) });
    return { budget: spend.budget, amount: budget.remaining.atomic };
  });
  return { granted, taken: taken.filter(({ amount }) => amount > 0n) };
}
