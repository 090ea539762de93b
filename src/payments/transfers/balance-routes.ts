import { z } from 'zod';
import type { Queryable, ReadDatabase } from '../../kernel/db/database.ts';
import { holding } from '../../kernel/http/amount-field.ts';
import { defineRoute, ok, type Route } from '../../kernel/http/define-route.ts';
import { httpErrors } from '../../kernel/http/errors.ts';
import { findRoute } from '../../kernel/http/find-route.ts';
import { listRoute } from '../../kernel/http/list-route.ts';
import { reads } from '../../kernel/http/tool.ts';
import { type Balance, balancesOf } from '../../ledger/balances.ts';
import { InvalidCursor } from '../../ledger/history.ts';
import { toDecimalText } from '../../money/amount.ts';
import { type Currency, homeChain, isCurrency } from '../../money/catalogue.ts';
import { transferErrors } from './errors.ts';
import { findTransfer, listTransfers, type TransferRecord, transferRecord } from './list-transfers.ts';
import { openMonth, statement, toCsv } from './statement.ts';

export interface BalanceParts {
  readonly db: Queryable;
  readonly readDb: ReadDatabase;
}

export function balanceRoutes({ db, readDb }: BalanceParts): Route[] {
  return [balanceRoute(db), historyRoute(readDb), findTransferRoute(db), statementRoute(readDb)];
}

function balanceRoute(db: Queryable): Route {
  return defineRoute(
    {
      id: 'getBalance',
      method: 'GET',
      path: '/circle/balance',
      tag: 'Transfers',
      summary: 'Retrieve your balance',
      tool: { name: 'get_balance', title: 'Your balance', hints: reads },
      description:
        '`USDC` and `EURC` are your spendable balances on Polygon. `other` lists balances on other chains (after POST /cross-chain/transfer) and in other assets (after POST /swap/execute); it is empty if there are none. Bridge or swap them back, or withdraw them on their chain. Money in progress is in neither: see GET /cross-chain/history, GET /swap/history, GET /circle/withdrawals and GET /shopping/orders.',
      auth: 'key',
      scope: 'read',
      returns: {
        200: {
          description: 'Your balances, as decimal strings in shortest form',
          schema: z.object({
            USDC: z.string(),
            EURC: z.string(),
            other: z
              .array(z.object({ chain: z.string(), asset: z.string(), amount: z.string() }))
              .meta({ description: 'Sorted by chain and asset, without zero balances.' }),
          }),
          example: {
            USDC: '100.5',
            EURC: '0',
            other: [
              { chain: 'BASE', asset: 'USDC', amount: '25' },
              { chain: 'MATIC', asset: 'ETH', amount: '0.03314' },
            ],
          },
        },
      },
    },
    async ({ caller }) => {
      const available = (await balancesOf(db, caller.accountId)).filter(({ kind }) => kind === 'available');
      const spendable = (asset: Currency) => available.find((one) => isSpendable(one) && one.asset === asset);
      const textOf = (balance: Balance | undefined) => (balance === undefined ? '0' : toDecimalText(balance.balance));
      const other = available
        .filter((one) => !isSpendable(one) && one.balance.atomic !== 0n)
        .map((one) => ({ chain: one.chain, asset: one.asset, amount: textOf(one) }))
        .sort((a, b) => (`${a.chain} ${a.asset}` < `${b.chain} ${b.asset}` ? -1 : 1));
      return ok({ USDC: textOf(spendable('USDC')), EURC: textOf(spendable('EURC')), other });
    },
  );
}

/** Transfers, orders and invoices can spend it. */
function isSpendable({ chain, asset }: Balance): boolean {
  return chain === homeChain && isCurrency(asset);
}

const exampleTransfer: TransferRecord = {
  transferId: 'trf_01kp3v2m8rfk2s6y0e6v9q4w1x',
  direction: 'sent',
  type: 'transfer',
  status: 'complete',
  amount: 50,
  fee: 0.75,
  currency: 'USDC',
  counterparty: { handle: 'PA-7K2M9QXA', name: 'Ada' },
  description: null,
  createdAt: '2026-01-15T10:00:00.000Z',
};

function historyRoute(readDb: ReadDatabase): Route {
  return listRoute({
    id: 'listTransfers',
    path: '/circle/transfers',
    tag: 'Transfers',
    summary: 'List your transfers',
    tool: { name: 'list_history', title: 'List your history', hints: reads },
    description:
      'Everything that changed your balances, newest first, back to the oldest month that the operator has not archived. Paging neither skips nor repeats items while new transfers arrive. Paid calls are grouped into one line, so a page may hold fewer lines than `limit`, or none: only a `nextCursor` of null marks the end.',
    returns: 'A page of your history',
    name: 'transfers',
    item: transferRecord,
    example: exampleTransfer,
    exampleQuery: { limit: '50' },
    rows: async ({ accountId, limit, cursor }) => {
      try {
        const { transfers, nextCursor } = await listTransfers(readDb, { accountId, limit, cursor });
        return { items: transfers, nextCursor };
      } catch (error) {
        if (!(error instanceof InvalidCursor)) throw error;
        const message = 'must be the nextCursor of an earlier page';
        throw httpErrors.invalid_request(`cursor ${message}.`, { errors: [{ path: 'cursor', message }] });
      }
    },
    describe: (transfer) => transfer,
  });
}

function findTransferRoute(db: Queryable): Route {
  return findRoute({
    id: 'getTransfer',
    path: '/circle/transfers/:transferId',
    tag: 'Transfers',
    summary: 'Retrieve a transfer',
    description: 'Anything in your history, by its `transferId`: also a transfer that you received.',
    returns: 'The transfer',
    final: ['complete'],
    item: transferRecord,
    example: exampleTransfer,
    notFound: transferErrors.transfer_not_found,
    find: (id, { accountId }) => findTransfer(db, { accountId, id }),
  });
}

const exampleCsv = [
  'date,transferId,type,counterparty,name,description,change,balance,currency',
  '2026-01-01,,opening balance,,,,,100,USDC',
  '2026-01-15T10:00:00.000Z,trf_01kp3v2m8rfk2s6y0e6v9q4w1x,transfer,PA-7K2M9QXA,Ada,,-50,50,USDC',
  ',,closing balance,,,,,50,USDC',
  '',
].join('\r\n');

function statementRoute(readDb: ReadDatabase): Route {
  return defineRoute(
    {
      id: 'getStatement',
      method: 'GET',
      path: '/account/statement',
      tag: 'Transfers',
      summary: 'Retrieve a monthly statement',
      description:
        'As JSON, or as CSV with `format=csv` or `Accept: text/csv`. The opening balance plus all changes equals the closing balance exactly. Months are in UTC. The statement is streamed and reflects the moment of the request; a response that breaks off is incomplete. The number of concurrent statements is limited. A month that the operator has archived is refused.',
      auth: 'key',
      scope: 'read',
      query: z.strictObject({
        month: z
          .string()
          .regex(/^20\d\d-(0[1-9]|1[0-2])$/, 'must be a month such as 2026-01')
          .meta({ description: 'YYYY-MM' }),
        currency: holding.default('USDC'),
        format: z.enum(['json', 'csv'], { error: 'must be json or csv' }).optional(),
      }),
      examples: { query: { month: '2026-01' } },
      returns: {
        200: {
          description: 'The statement',
          schema: statement,
          example: {
            month: '2026-01',
            currency: 'USDC',
            openingBalance: '100',
            closingBalance: '50',
            lines: [
              {
                transferId: 'trf_01kp3v2m8rfk2s6y0e6v9q4w1x',
                createdAt: '2026-01-15T10:00:00.000Z',
                type: 'transfer',
                counterparty: { handle: 'PA-7K2M9QXA', name: 'Ada' },
                description: null,
                change: '-50',
                balance: '50',
              },
            ],
          },
          alternatives: { 'text/csv': exampleCsv },
          long: 'lines',
        },
      },
      errors: [transferErrors.month_archived],
    },
    async ({ caller, query, accept }) => {
      const { accountId } = caller;
      const month = await openMonth(readDb, { accountId, month: query.month, currency: query.currency });
      const wantsCsv = query.format === undefined ? /\btext\/csv\b/.test(accept) : query.format === 'csv';
      return wantsCsv
        ? { status: 200, text: { type: 'text/csv', pieces: () => toCsv(month) } }
        : { status: 200, long: { head: month.head, items: month.lines } };
    },
  );
}
