import type { Queryable } from '../../kernel/db/database.ts';
import { defineRoute, ok, type Route } from '../../kernel/http/define-route.ts';
import { page, pageQuery } from '../../kernel/http/paging.ts';
import { depositRecord, listDeposits } from './list-deposits.ts';

/** What has arrived for an account. Where it may arrive is told by the wallets. */
export function depositRoutes(db: Queryable): Route[] {
  return [depositsRoute(db)];
}

function depositsRoute(db: Queryable): Route {
  return defineRoute(
    {
      id: 'listDeposits',
      method: 'GET',
      path: '/circle/deposits',
      tag: 'Wallets',
      summary: 'What has arrived on chains',
      description: 'Newest first.',
      auth: 'key',
      scope: 'read',
      query: pageQuery,
      examples: { query: { limit: '50' } },
      returns: {
        200: {
          description: 'A page of your deposits',
          schema: page('deposits', depositRecord),
          example: {
            deposits: [
              {
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
            ],
            nextCursor: null,
          },
        },
      },
    },
    async ({ caller: { accountId }, query: { limit, cursor } }) =>
      ok(await listDeposits(db, { accountId, limit, cursor })),
  );
}
