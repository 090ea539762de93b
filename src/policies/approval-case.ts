import type { Caller } from '../kernel/http/define-route.ts';
import type { Authority, Spend } from '../ledger/posting.ts';
import type { BudgetState } from './budget-states.ts';
import type { Payment } from './consent.ts';

export interface ShownRule {
  readonly key: string;
  readonly index: number;
}

/** What the policies say about a payment that none of them denies. */
export interface JudgedPayment {
  readonly caller: Caller;
  readonly payment: Payment;
  readonly stamp: bigint;
  /** Of the caller's key and the keys above it, by their places. */
  readonly policies: readonly { readonly place: string; readonly version: string }[];
  readonly outcome: 'allow' | 'ask';
  /** The rule that decided, if any. */
  readonly rule: ShownRule | null;
  readonly spends: readonly Spend[];
  /** As they are before the payment. */
  readonly budgets: readonly BudgetState[];
}

/** Stands for the owner in a request that runs again (`Caller.approval`). */
export interface ApprovalCase {
  /** Of the approval that is executed. */
  readonly id?: string;
  /** Called before anything is judged. Throws where the request may only be replayed. */
  begin(): void;
  /** Throws where the payment must not be made by this run of the request. */
  consentTo(judged: JudgedPayment): Promise<Authority>;
}
