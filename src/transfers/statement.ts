import { z } from 'zod';
import type { Queryable } from '../db/database.ts';
import { type Holding, holding } from '../http/amount-field.ts';
import { userAccount } from '../ledger/account-id.ts';
import { gatherByHour, statementOf } from '../ledger/statement.ts';
import { toDecimalText } from '../money/amount.ts';
import { toRecords } from './list-transfers.ts';

const line = z.object({
  transferId: z.string(),
  createdAt: z.iso.datetime(),
  type: z.string(),
  counterparty: z.object({ handle: z.string(), name: z.string() }).nullable(),
  description: z.string().nullable(),
  change: z.string().meta({ description: 'Below zero when it went out.' }),
  balance: z.string().meta({ description: 'The balance after it.' }),
});

/** Amounts are text, so that adding them up by hand gives the same to the last digit. */
export const statement = z.object({
  month: z.string(),
  currency: holding,
  openingBalance: z.string(),
  closingBalance: z.string(),
  lines: z.array(line).meta({ description: 'Oldest first. Opening balance plus all changes is the closing balance.' }),
});

type Statement = z.input<typeof statement>;

export interface StatementRequest {
  readonly accountId: bigint;
  /** YYYY-MM, in UTC. */
  readonly month: string;
  readonly currency: Holding;
}

export async function readStatement(db: Queryable, request: StatementRequest): Promise<Statement> {
  const { accountId, month } = request;
  const from = new Date(`${month}-01T00:00:00.000Z`);
  const to = new Date(from);
  to.setUTCMonth(to.getUTCMonth() + 1);
  const {
    opening,
    closing,
    entries: each,
  } = await statementOf(db, {
    account: userAccount(accountId, request.currency),
    from,
    to,
  });
  const entries = gatherByHour(each, opening);
  const records = await toRecords(db, accountId, entries);
  return {
    month,
    currency: request.currency,
    openingBalance: toDecimalText(opening),
    closingBalance: toDecimalText(closing),
    lines: entries.map(({ change, balanceAfter }, index) => {
      const { transferId, createdAt, type, counterparty, description } = records[index] as (typeof records)[number];
      const [moved, balance] = [toDecimalText(change), toDecimalText(balanceAfter)];
      return { transferId, createdAt, type, counterparty, description, change: moved, balance };
    }),
  };
}

const columns = ['date', 'transferId', 'type', 'counterparty', 'name', 'description', 'change', 'balance', 'currency'];

/** RFC 4180. The first and last row carry the opening and closing balance. */
export function toCsv({ month, currency: asset, openingBalance, closingBalance, lines }: Statement): string {
  const rows = [
    columns,
    [`${month}-01`, '', 'opening balance', '', '', '', '', openingBalance, asset],
    ...lines.map(({ createdAt, transferId, type, counterparty, description, change, balance }) => [
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
    ['', '', 'closing balance', '', '', '', '', closingBalance, asset],
  ];
  return rows.map((row) => `${row.map(toCell).join(',')}\r\n`).join('');
}

/** Spreadsheets take text that begins with =, @ or the like for a formula, and others choose these texts: disarm it. */
function toCell(text: string): string {
  const isFormula = /^[=@+\-\t\r]/.test(text) && !/^-?\d+(\.\d+)?$/.test(text);
  const harmless = isFormula ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
