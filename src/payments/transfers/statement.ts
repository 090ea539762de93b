import { z } from 'zod';
import type { Queryable } from '../../kernel/db/database.ts';
import { holding } from '../../kernel/http/amount-field.ts';
import { untrusted } from '../../kernel/http/untrusted.ts';
import { userAccount } from '../../ledger/account-id.ts';
import type { HistoryEntry } from '../../ledger/history.ts';
import { openStatement, StatementArchived } from '../../ledger/statement.ts';
import { toDecimalText } from '../../money/amount.ts';
import type { Holding } from '../../money/catalogue.ts';
import { transferErrors } from './errors.ts';
import { toRecords } from './list-transfers.ts';

const line = z.object({
  transferId: z.string(),
  createdAt: z.iso.datetime(),
  type: z.string(),
  counterparty: z.object({ handle: z.string(), name: untrusted }).nullable(),
  description: untrusted.nullable(),
  change: z.string().meta({ description: 'Negative for outgoing money.' }),
  balance: z.string().meta({ description: 'The balance after this change.' }),
});

/** Amounts are decimal strings, so they add up exactly. */
export const statement = z.object({
  month: z.string(),
  currency: holding,
  openingBalance: z.string(),
  closingBalance: z.string(),
  lines: z
    .array(line)
    .meta({ description: 'Oldest first. The opening balance plus all changes equals the closing balance.' }),
});

type Line = z.input<typeof line>;

/** A statement whose lines are streamed in batches. */
export interface OpenStatement {
  readonly head: Omit<z.input<typeof statement>, 'lines'>;
  /** Oldest first, in batches. */
  lines(): AsyncIterable<Line[]>;
}

export interface StatementRequest {
  readonly accountId: bigint;
  /** YYYY-MM, in UTC. */
  readonly month: string;
  readonly currency: Holding;
}

export async function openMonth(db: Queryable, request: StatementRequest): Promise<OpenStatement> {
  const { accountId, month, currency } = request;
  const from = new Date(`${month}-01T00:00:00.000Z`);
  const to = new Date(from);
  to.setUTCMonth(to.getUTCMonth() + 1);
  const query = { account: userAccount(accountId, currency), from, to };
  const { opening, closing, lines } = await openStatement(db, query).catch((error: unknown) => {
    throw error instanceof StatementArchived ? transferErrors.month_archived() : error;
  });
  return {
    head: { month, currency, openingBalance: toDecimalText(opening), closingBalance: toDecimalText(closing) },
    async *lines() {
      for await (const entries of lines()) yield await toLines(db, accountId, entries);
    },
  };
}

async function toLines(db: Queryable, accountId: bigint, entries: readonly HistoryEntry[]): Promise<Line[]> {
  const records = await toRecords(db, accountId, entries);
  return entries.map(({ change, balanceAfter }, index) => {
    const { transferId, createdAt, type, counterparty, description } = records[index] as (typeof records)[number];
    const [moved, balance] = [toDecimalText(change), toDecimalText(balanceAfter)];
    return { transferId, createdAt, type, counterparty, description, change: moved, balance };
  });
}

const columns = ['date', 'transferId', 'type', 'counterparty', 'name', 'description', 'change', 'balance', 'currency'];

/** RFC 4180. The first and last row carry the opening and closing balance. */
export async function* toCsv({ head, lines }: OpenStatement): AsyncGenerator<string> {
  const { month, currency: asset, openingBalance, closingBalance } = head;
  yield toRow(columns) + toRow([`${month}-01`, '', 'opening balance', '', '', '', '', openingBalance, asset]);
  for await (const some of lines()) {
    const rows = some.map(({ createdAt, transferId, type, counterparty, description, change, balance }) =>
      toRow([
        createdAt,
        transferId,
        type,
        counterparty?.handle ?? '',
        counterparty?.name ?? '',
        description ?? '',
        change,
        balance,
        asset,
      ]),
    );
    yield rows.join('');
  }
  yield toRow(['', '', 'closing balance', '', '', '', '', closingBalance, asset]);
}

function toRow(cells: readonly string[]): string {
  return `${cells.map(toCell).join(',')}\r\n`;
}

/** Spreadsheets run text that begins with =, @ or the like as a formula; a leading apostrophe prevents that. */
function toCell(text: string): string {
  const isFormula = /^[=@+\-\t\r]/.test(text) && !/^-?\d+(\.\d+)?$/.test(text);
  const harmless = isFormula ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
