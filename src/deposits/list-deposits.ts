import { z } from 'zod';
import { type ChainId, chainIds } from '../chains/chains.ts';
import type { Queryable } from '../db/database.ts';
import { currency } from '../http/amount-field.ts';
import { toPage } from '../http/paging.ts';
import { amountOf, toDecimalText } from '../money/amount.ts';

/** A deposit, as the account that it was credited to sees it. */
export const depositRecord = z.object({
  depositId: z.string(),
  chain: z.enum(chainIds),
  currency,
  amount: z.string().meta({ description: 'Decimal text, exact to the last digit.' }),
  txHash: z.string(),
  from: z.string().meta({ description: 'The address that sent it.' }),
  transferId: z.string().meta({ description: 'How it is known in your history.' }),
  createdAt: z.iso.datetime(),
});

type DepositRecord = z.input<typeof depositRecord>;

interface DepositRow {
  readonly id: string;
  readonly chain: ChainId;
  readonly asset: DepositRecord['currency'];
  readonly atomic: string;
  readonly tx_hash: string;
  readonly sender: string;
  readonly transfer_id: string;
  readonly created_at: Date;
}

export async function listDeposits(
  db: Queryable,
  { accountId, limit, cursor }: { accountId: bigint; limit: number; cursor: string | undefined },
): Promise<{ deposits: DepositRecord[]; nextCursor: string | null }> {
  const { rows } = await db.query<DepositRow>(
    `SELECT id, chain, asset, atomic, tx_hash, sender, transfer_id, created_at FROM deposits
      WHERE account_id = $1 AND ($2::text IS NULL OR id < $2) ORDER BY id DESC LIMIT $3`,
    [accountId, cursor ?? null, limit + 1],
  );
  const { items, nextCursor } = toPage(rows, limit, ({ id }) => id);
  return { deposits: items.map(toRecord), nextCursor };
}

function toRecord({ id, chain, asset, atomic, tx_hash, sender, transfer_id, created_at }: DepositRow): DepositRecord {
  return {
    depositId: id,
    chain,
    currency: asset,
    amount: toDecimalText(amountOf(asset, BigInt(atomic))),
    txHash: tx_hash,
    from: sender,
    transferId: transfer_id,
    createdAt: created_at.toISOString(),
  };
}
