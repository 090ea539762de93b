import type { Queryable } from '../../kernel/db/database.ts';
import { toTypeId } from '../../kernel/ids/typeid.ts';
import { assetByCode } from '../../ledger/account-id.ts';
import { toPostingId } from '../../ledger/posting.ts';
import { amountOf, toDecimalText } from '../../money/amount.ts';
import type { DecisionBody } from './judged.ts';
import type { UnchainedRecord } from './record.ts';

export interface WaitingRecord {
  readonly id: string;
  readonly accountId: bigint;
  readonly keyId: string;
  readonly record: UnchainedRecord;
}

interface WaitingRow {
  readonly id: string;
  readonly accountId: bigint;
  readonly handle: string;
  readonly keyId: string;
  readonly at: Date;
  readonly postingId: string | null;
  readonly body: DecisionBody & { readonly count?: number };
  /** What the posting took of which budgets, and left of them. Null when it took of none. Arrays would take longer to read. */
  readonly budgets: string | null;
  readonly taken: string | null;
  readonly remaining: string | null;
}

/** `rest` is the end of the query, where `w` is a waiting decision. */
export async function readWaiting(
  db: Queryable,
  { rest, values = [] }: { readonly rest: string; readonly values?: readonly unknown[] },
): Promise<WaitingRecord[]> {
  const { rows } = await db.query<WaitingRow>(
    `SELECT w.id, w.account_id, a.handle, w.key_id, w.at, w.posting_id, w.body, array_to_string(w.remaining, ' ') AS remaining,
            array_to_string(s.budgets, ' ') AS budgets, array_to_string(s.amounts, ' ') AS taken
       FROM decisions_waiting w JOIN accounts a ON a.id = w.account_id LEFT JOIN ledger.spendings s ON s.posting_id = w.posting_id
     ${rest}`,
    values,
  );
  if (rows.length === 0) return [];
  const names = await readNames(db, rows);
  return rows.map((row) => ({
    id: row.id,
    accountId: row.accountId,
    keyId: row.keyId,
    record: toRecord(row, names),
  }));
}

interface Names {
  /** The key that stands for each place now. */
  readonly keys: ReadonlyMap<string, string>;
  readonly handles: ReadonlyMap<string, string>;
  readonly budgets: ReadonlyMap<string, { readonly place: string; readonly name: string; readonly currency: number }>;
}

/** Everything that many records name is looked up once. */
async function readNames(db: Queryable, rows: readonly WaitingRow[]): Promise<Names> {
  const places = new Set(rows.flatMap(({ body }) => body.places));
  const payees = new Set(rows.flatMap(({ body }) => body.payee ?? []));
  const budgets = new Set(rows.flatMap((row) => split(row.budgets)));
  const keys = await db.query<{ place: string; key: string }>(
    'SELECT p.place, coalesce(ledger.key_at(p.place), p.place) AS key FROM unnest($1::text[]) p (place)',
    [[...places]],
  );
  const handles = await db.query<{ id: string; handle: string }>(
    'SELECT id::text, handle FROM accounts WHERE id = ANY ($1::bigint[])',
    [[...payees]],
  );
  const known = await db.query<{ id: string; place: string; name: string; currency: number }>(
    'SELECT id::text, place, name, currency FROM ledger.budgets WHERE id = ANY ($1::bigint[])',
    [[...budgets]],
  );
  return {
    keys: new Map(keys.rows.map(({ place, key }) => [place, key])),
    handles: new Map(handles.rows.map(({ id, handle }) => [id, handle])),
    budgets: new Map(known.rows.map(({ id, ...budget }) => [id, budget])),
  };
}

function toRecord({ id, handle, at, postingId, body, ...spent }: WaitingRow, names: Names): UnchainedRecord {
  const keyAt = (place: string) => (place === body.places[0] ? body.key : (names.keys.get(place) ?? place));
  const { operation, asset, amount, outcome, code, approval, rule } = body;
  return {
    account: handle,
    amount,
    approval,
    asset,
    at: at.toISOString(),
    budgets: [
      ...budgetsOf(spent, names, keyAt),
      ...(body.exceeded ?? []).map(({ remaining, ...budget }) => {
        return { ...budget, remainingAfter: remaining, remainingBefore: remaining, taken: '0' };
      }),
    ],
    code,
    count: String(body.count ?? 1),
    counterparty: (body.payee === undefined ? body.counterparty : names.handles.get(body.payee)) ?? null,
    id: toTypeId('dec', id),
    key: body.key,
    keys: body.places.map(keyAt),
    operation,
    outcome,
    policies: body.policies.map(({ place, version }) => ({ key: keyAt(place), version })),
    posting: postingId === null ? null : toPostingId(postingId),
    rule: rule && { index: String(rule.index), key: 'place' in rule ? keyAt(rule.place) : rule.key },
  };
}

function split(numbers: string | null): readonly string[] {
  return numbers === null ? [] : numbers.split(' ');
}

function budgetsOf(
  { budgets, taken, remaining }: Pick<WaitingRow, 'budgets' | 'taken' | 'remaining'>,
  names: Names,
  keyAt: (place: string) => string,
): UnchainedRecord['budgets'] {
  const [amounts, rests] = [split(taken), split(remaining)];
  return split(budgets).map((id, index) => {
    const budget = names.budgets.get(id);
    const currency = budget && assetByCode(budget.currency);
    if (budget === undefined || currency === undefined) throw new Error(`budget ${id} is not known`);
    const [took, left] = [BigInt(amounts[index] ?? 0), BigInt(rests[index] ?? 0)];
    const text = (atomic: bigint) => toDecimalText(amountOf(currency, atomic));
    return {
      asset: currency,
      id: budget.name,
      key: keyAt(budget.place),
      remainingAfter: text(left),
      remainingBefore: text(left + took),
      taken: text(took),
    };
  });
}
