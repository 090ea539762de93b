import type { Queryable } from '../../kernel/db/database.ts';
import type { Route } from '../../kernel/http/define-route.ts';
import { listRoute } from '../../kernel/http/list-route.ts';
import { depositRecord, listDeposits } from './list-deposits.ts';

export function depositRoutes(db: Queryable): Route[] {
  return [
    listRoute({
      id: 'listDeposits',
      path: '/circle/deposits',
      tag: 'Wallets',
      summary: 'List your deposits',
      description: 'Tokens that arrived on chain for your account, newest first.',
      returns: 'A page of your deposits',
      name: 'deposits',
      item: depositRecord,
      example: {
        depositId: 'dep_01kp3v2m8rfk2s6y0e6v9q4w1x',
        chain: 'MATIC',
        currency: 'USDC',
        amount: '100.5',
        txHash: '0x88df016429689c079f3b2f6ad39fa052532c56795b733da78a91ebe6a713944b',
        from: '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
        transferId: 'trf_01kp3v2m8rfk2s6y0e6v9q4w1x',
        status: 'credited',
        carriedBy: null,
        createdAt: '2026-01-15T10:00:00.000Z',
      },
      exampleQuery: { limit: '50' },
      rows: async ({ accountId, limit, cursor }) => {
        const { deposits, nextCursor } = await listDeposits(db, { accountId, limit, cursor });
        return { items: deposits, nextCursor };
      },
      describe: (deposit) => deposit,
    }),
  ];
}
