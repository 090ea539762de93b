import type { Queryable } from '../kernel/db/database.ts';
import { assetByCode } from '../ledger/account-id.ts';
import type { ExceededBudget, Spend } from '../ledger/posting.ts';
import { type Amount, amountOf, toDecimalText } from '../money/amount.ts';
import type { Currency } from '../money/catalogue.ts';
import { operations } from './consent.ts';
import type { Budget } from './policy.ts';

/** A budget of a key, or of a key above it, as it is now. */
export interface BudgetState {
  /** In the ledger. */
  readonly budget: bigint;
  readonly key: string;
  /** Of the key. */
  readonly place: string;
  readonly id: string;
  readonly window: Budget['window'];
  /** As the policy has it. */
  readonly stated: Budget | undefined;
  readonly operations: readonly (typeof operations)[number][];
  readonly onExceed: 'deny' | 'ask';
  readonly limit: Amount;
  readonly spent: Amount;
  readonly remaining: Amount;
  readonly resetsAt: Date | null;
  /** When what is spent now returns. */
  readonly returnsAt: Date | null;
}

interface StateRow {
  readonly id: bigint;
  readonly key: string;
  readonly place: string;
  readonly name: string;
  readonly currency: number;
  readonly span: Budget['window'];
  readonly onExceed: 'deny' | 'ask';
  readonly most: bigint;
  readonly spent: bigint;
  readonly remaining: bigint;
  readonly resetsAt: Date | null;
  readonly returnsAt: Date | null;
  readonly stated: Budget | null;
}

/** Own budgets first, then upward. */
export async function listBudgets(
  db: Queryable,
  { accountId, keyId }: { readonly accountId: bigint; readonly keyId: string },
): Promise<BudgetState[]> {
  return readStates(db, 'SELECT path FROM api_keys WHERE id = $1 AND account_id = $2', [keyId, accountId]);
}

/** Of the keys at these places. */
export async function listBudgetsAt(db: Queryable, places: readonly string[]): Promise<BudgetState[]> {
  return readStates(db, 'SELECT $1::text[]', [places]);
}

async function readStates(db: Queryable, places: string, values: readonly unknown[]): Promise<BudgetState[]> {
  const { rows } = await db.query<StateRow>(
    `SELECT b.id, ledger.key_at(b.place) AS key, b.place, b.name, b.currency, b.span, b.on_exceed, b.most, b.spent, b.remaining,
            b.resets_at, b.returns_at,
            (SELECT s.budget FROM key_policies kp CROSS JOIN LATERAL jsonb_array_elements(kp.policy -> 'budgets') s (budget)
              WHERE kp.place = b.place AND s.budget ->> 'id' = b.name) AS stated
       FROM (${places}) k (path) CROSS JOIN LATERAL ledger.budget_states(k.path) b
      ORDER BY array_position(k.path, b.place) DESC, b.name COLLATE "C"`,
    values,
  );
  return rows.map(({ id, key, place, name, span, onExceed, resetsAt, returnsAt, stated, ...row }) => {
    const currency = assetByCode(row.currency) as Currency;
    return {
      budget: id,
      key,
      place,
      id: name,
      window: span,
      stated: stated ?? undefined,
      operations: stated?.operations ?? operations,
      onExceed,
      limit: amountOf(currency, row.most),
      spent: amountOf(currency, row.spent),
      remaining: amountOf(currency, row.remaining),
      resetsAt,
      returnsAt,
    };
  });
}

/** The budgets that do not cover these spends, in the order of the states. */
export function findExceeded(states: readonly BudgetState[], spends: readonly Spend[]): ExceededBudget[] {
  return states.filter(({ budget, remaining }) => {
    const spend = spends.find((one) => one.budget === budget);
    return spend !== undefined && spend.amount > remaining.atomic;
  });
}

/** As they are after these spends, which they cover. */
export function afterSpending(states: readonly BudgetState[], spends: readonly Spend[]): BudgetState[] {
  return states.map((state) => {
    const { spent, remaining, returnsAt } = state;
    const amount = spends.find(({ budget }) => budget === state.budget)?.amount ?? 0n;
    return {
      ...state,
      resetsAt: state.resetsAt ?? (amount > 0n ? returnsAt : null),
      spent: amountOf(spent.asset, spent.atomic + amount),
      remaining: amountOf(remaining.asset, remaining.atomic - amount),
    };
  });
}

export function describeBudget({
  key,
  id,
  window,
  operations: counted,
  limit,
  spent,
  remaining,
  resetsAt,
}: BudgetState) {
  return {
    key,
    id,
    currency: limit.asset as Currency,
    window,
    operations: [...counted],
    limit: toDecimalText(limit),
    spent: toDecimalText(spent),
    remaining: toDecimalText(remaining),
    resetsAt: resetsAt?.toISOString() ?? null,
  };
}
