import type { Queryable } from '../../src/kernel/db/database.ts';
import { openStatement, type StatementQuery } from '../../src/ledger/statement.ts';
import { openMonth, type StatementRequest } from '../../src/payments/transfers/statement.ts';

/** Whatever comes bit by bit, as one. */
export async function all<Item>(bits: AsyncIterable<readonly Item[]>): Promise<Item[]> {
  const found: Item[] = [];
  for await (const bit of bits) found.push(...bit);
  return found;
}

export async function statementOf(db: Queryable, query: StatementQuery) {
  const { account, opening, closing, entries } = await openStatement(db, query);
  return { account, opening, entries: await all(entries()), closing };
}

export async function readStatement(db: Queryable, request: StatementRequest) {
  const { head, lines } = await openMonth(db, request);
  return { ...head, lines: await all(lines()) };
}
