import type { Caller } from '../../kernel/http/define-route.ts';
import type { Problem } from '../../kernel/http/problem.ts';
import { balanceErrors } from '../../ledger/balance-errors.ts';
import type { Decision, ExceededBudget } from '../../ledger/posting.ts';
import { toDecimalText } from '../../money/amount.ts';
import type { Counterparty, Operation, Payment } from '../consent.ts';
import type { KeyChain } from '../key-chain.ts';
import type { RuleAt } from '../rules.ts';

/** A payment, and the policies that were asked about it. */
export interface Judged {
  readonly caller: Caller;
  readonly payment: Payment;
  readonly chain: Pick<KeyChain, 'places' | 'policies'>;
}

/** What a decision is recorded from. `read-waiting.ts` adds what only the database knows. */
export interface DecisionBody {
  readonly outcome: 'allow' | 'deny' | 'ask';
  /** Of the error. Null when the payment is allowed. */
  readonly code: string | null;
  readonly key: string;
  /** From the caller's up to the root. */
  readonly places: readonly string[];
  readonly operation: Operation;
  readonly asset: string;
  readonly amount: string;
  /** The number of an account, or the name of another counterparty. */
  readonly payee?: string;
  readonly counterparty?: string;
  readonly policies: KeyChain['policies'];
  readonly rule: RuleAt | { readonly key: string; readonly index: number } | null;
  /** The id of the approval that decided. */
  readonly approval: string | null;
  /** The budgets that do not cover a refused payment, the first ten of them. */
  readonly exceeded?: readonly {
    readonly key: string;
    readonly id: string;
    readonly asset: string;
    readonly remaining: string;
  }[];
}

export interface Refusal extends Pick<Caller, 'accountId' | 'tier'> {
  readonly body: DecisionBody;
}

/**
 * Records refused payments. Nothing is posted for them, so they are written later: a crash loses those of the last minute. Refusals of
 * one key with one reason are counted together, and those of an account are capped per day.
 */
export interface RefusalBook {
  /** Returns at once. */
  note(refusal: Refusal): void;
  /** Writes everything that was noted. */
  stop(): Promise<void>;
}

function describeJudged(
  { caller, payment, chain }: Judged,
  decided: Pick<DecisionBody, 'outcome' | 'code' | 'rule' | 'exceeded' | 'approval'>,
): DecisionBody {
  return {
    ...decided,
    key: caller.keyId,
    places: chain.places,
    operation: payment.operation,
    asset: payment.amount.asset,
    amount: toDecimalText(payment.amount),
    ...(payment.counterparty && nameOf(payment.counterparty)),
    policies: chain.policies,
  };
}

/** An email address or a phone number was resolved before: an account is shown by its handle. */
function nameOf(counterparty: Counterparty): Pick<DecisionBody, 'payee' | 'counterparty'> {
  switch (counterparty.kind) {
    case 'account':
      return { payee: String(counterparty.accountId) };
    case 'address':
      return { counterparty: counterparty.address };
    case 'shop':
      return { counterparty: counterparty.domain };
    case 'endpoint':
      return { counterparty: counterparty.host };
  }
}

/** The decision to allow a payment, for its posting. Undefined where no key of the chain has a policy. */
export function allowedBy(
  refusals: RefusalBook,
  { rule, approval = null, ...judged }: Judged & { readonly rule: RuleAt | null; readonly approval?: string | null },
): { readonly decision: Decision } | undefined {
  if (judged.chain.policies.length === 0) return undefined;
  const decision: Decision = {
    body: { ...describeJudged(judged, { outcome: 'allow', code: null, rule, approval }) },
    refused: (problem, exceeded) => void refusedBy(refusals, judged, problem, exceeded),
  };
  return { decision };
}

/** A record of a refusal stays small, however many budgets do not cover the payment. */
const mostExceeded = 10;

/** Has a refusal recorded once a client is answered with it. What is known already stays. Returns it. */
export function refusedBy(
  refusals: RefusalBook,
  judged: Judged,
  problem: Problem,
  exceeded: readonly ExceededBudget[] = [],
): Problem {
  const { caller, chain } = judged;
  if (chain.policies.length === 0 || problem.whenSent !== undefined) return problem;
  const { code, extras } = problem;
  const rule = (extras.members?.['rule'] ?? null) as DecisionBody['rule'];
  const beyond = exceeded.slice(0, mostExceeded).map(({ key, id, remaining }) => {
    return { key, id, asset: remaining.asset, remaining: toDecimalText(remaining) };
  });
  const outcome = code === balanceErrors.approval_required.code ? 'ask' : 'deny';
  const body = describeJudged(judged, { outcome, code, rule, approval: null, exceeded: beyond });
  problem.whenSent = () => refusals.note({ accountId: caller.accountId, tier: caller.tier, body });
  return problem;
}
