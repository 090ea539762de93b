import { z } from 'zod';
import type { Queryable, ReadDatabase } from '../../kernel/db/database.ts';
import { holding } from '../../kernel/http/amount-field.ts';
import type { Route } from '../../kernel/http/define-route.ts';
import { listRoute, toPage } from '../../kernel/http/list-route.ts';
import { amountOf, toDecimalText } from '../../money/amount.ts';
import { chainIds } from '../../money/catalogue.ts';

const depositRecord = z.object({
  depositId: z.string(),
  chain: z.enum(chainIds),
  currency: holding,
  amount: z.string().meta({ description: 'An exact decimal string.' }),
  txHash: z.string(),
  from: z.string().meta({ description: 'The sending address.' }),
  transferId: z.string().nullable().meta({ description: 'Its id in your transfer history. Null while `pending`.' }),
  status: z.enum(['pending', 'credited', 'waiting', 'on_its_way', 'carried_home', 'reversed']).meta({
    description:
      '`pending`: seen on chain and being checked, as large deposits are. `credited`: in your balance on its chain. `reversed`: removed from your balance because a reorg dropped the transaction. USDC on a chain where you have no wallet is bridged to Polygon: it is `waiting` until the amount is worth the gas, then `on_its_way`, and `carried_home` once you can spend it.',
  }),
  carriedBy: z.string().nullable().meta({
    description: 'The cross-chain transfer that bridges it to Polygon: see `/cross-chain/status/{transferId}`.',
  }),
  createdAt: z.iso.datetime(),
});

type DepositRecord = z.input<typeof depositRecord>;

type DepositRow = Omit<DepositRecord, 'amount' | 'createdAt'> & { readonly amount: bigint; readonly createdAt: Date };

export async function listDeposits(
  db: Queryable,
  { accountId, limit, cursor }: { accountId: bigint; limit: number; cursor: string | undefined },
): Promise<{ deposits: DepositRecord[]; nextCursor: string | null }> {
  const { rows } = await db.query<DepositRow>(
    `SELECT * FROM (
       (SELECT d.id COLLATE "C" AS deposit_id, d.chain, d.asset AS currency, d.atomic AS amount, d.tx_hash, d.sender AS "from",
               d.transfer_id, d.bridge_id AS carried_by, d.created_at,
               CASE WHEN EXISTS (SELECT FROM deposit_reversals r WHERE r.deposit_id = d.id) THEN 'reversed'
                    WHEN NOT d.home_bound OR d.kept_at IS NOT NULL THEN 'credited' WHEN d.bridge_id IS NULL THEN 'waiting'
                    WHEN b.status = 'completed' THEN 'carried_home' ELSE 'on_its_way' END AS status
          FROM deposits d LEFT JOIN bridges b ON b.id = d.bridge_id
         WHERE d.account_id = $1 AND ($2::text IS NULL OR d.id < $2) ORDER BY d.id DESC LIMIT $3)
       UNION ALL
       (SELECT h.id, h.chain, h.asset, h.atomic, h.tx_hash, h.sender, NULL, NULL, h.seen_at, 'pending' FROM held_deposits h
         WHERE h.account_id = $1 AND h.rejected_at IS NULL AND ($2::text IS NULL OR h.id < $2)
         ORDER BY h.id DESC LIMIT $3)) seen
      ORDER BY deposit_id DESC LIMIT $3`,
    [accountId, cursor ?? null, limit + 1],
  );
  const { items, nextCursor } = toPage(rows, limit, ({ depositId }) => depositId);
  return { deposits: items.map(describeDeposit), nextCursor };
}

function describeDeposit({ amount, createdAt, ...row }: DepositRow): DepositRecord {
  return { ...row, amount: toDecimalText(amountOf(row.currency, amount)), createdAt: createdAt.toISOString() };
}

export function depositRoutes(readDb: ReadDatabase): Route[] {
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
        const { deposits, nextCursor } = await listDeposits(readDb, { accountId, limit, cursor });
        return { items: deposits, nextCursor };
      },
      describe: (deposit) => deposit,
    }),
  ];
}
