import { planStep } from '../../custody/steps/plan-step.ts';
import { fillStep } from '../../custody/steps/spending-wallet.ts';
import { houseWallet } from '../../custody/wallets/house-wallets.ts';
import type { Queryable, Transaction } from '../../kernel/db/database.ts';
import { type Repeated, repeatedSince } from '../../kernel/http/duplicate-guard.ts';
import { newId } from '../../kernel/ids/ids.ts';
import { wakeSaga } from '../../kernel/sagas/wake-saga.ts';
import { houseAccount, userAccount } from '../../ledger/account-id.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Authority, Outcome } from '../../ledger/posting.ts';
import { subtract } from '../../money/amount.ts';
import { homeChain } from '../../money/catalogue.ts';
import type { SwapTerms } from './quote-swap.ts';
import { publicStatus, type SwapStatus, swapSaga } from './saga.ts';

export interface NewSwap extends Omit<SwapTerms, 'rate'> {
  readonly accountId: bigint;
  readonly keyId?: string;
  /** Goes with the key. */
  readonly authority?: Authority;
  readonly validSeconds: number;
}

/** The newest swap like this one that has not failed. */
export async function newestLike(
  db: Queryable,
  { accountId, amount, amountOut }: Pick<NewSwap, 'accountId' | 'amount' | 'amountOut'>,
): Promise<Repeated | undefined> {
  const { rows } = await db.query<Omit<Repeated, 'status'> & { status: SwapStatus }>(
    `SELECT id, status, created_at FROM swaps
      WHERE account_id = $1 AND created_at > ${repeatedSince} AND asset = $2 AND to_asset = $3 AND amount = $4
        AND status <> 'failed'
      ORDER BY created_at DESC, id DESC LIMIT 1`,
    [accountId, amount.asset, amountOut.asset, amount.atomic],
  );
  const [row] = rows;
  return row && { ...row, status: publicStatus(row.status) };
}

/** Writes the row, the first step, the job and the posting in the caller's commit. */
export async function openSwap(
  tx: Transaction,
  ledger: Ledger,
  { accountId, keyId, authority, amount, fee, gasFee, poolGas, amountOut, amountOutMin, validSeconds }: NewSwap,
): Promise<{ readonly id: string; readonly outcome: Outcome }> {
  const id = newId('swp');
  const swapper = await houseWallet(tx, 'swaps', homeChain);
  await tx.query(
    `INSERT INTO swaps (id, account_id, asset, to_asset, amount, fee, gas_fee, pool_gas, quoted, amount_out_min, deadline, swapper_id,
        key_id, status)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, floor(extract(epoch FROM clock_timestamp())) + $11, $12, $13, 'queued')`,
    [
      id,
      accountId,
      amount.asset,
      amountOut.asset,
      amount.atomic,
      fee.atomic,
      gasFee.atomic,
      poolGas,
      amountOut.atomic,
      amountOutMin.atomic,
      validSeconds,
      swapper.id,
      keyId ?? null,
    ],
  );
  await planStep(tx, {
    saga: swapSaga.name,
    ...fillStep(id),
    chain: homeChain,
    leaves: [{ amount: subtract(amount, fee), recipient: swapper.address, stays: true }],
  });
  await wakeSaga(tx, { saga: swapSaga.name, id, lane: homeChain });
  const [posted] = await ledger.postWithin(tx, [
    {
      type: 'swap',
      amount,
      fee,
      entries: [
        { account: userAccount(accountId, amount.asset), atomic: -amount.atomic },
        { account: houseAccount('swaps_in_transit', amount.asset), atomic: amount.atomic },
      ],
      reference: `swap:${id}`,
      description: `To ${amountOut.asset}`,
      details: { swapId: id, fromToken: amount.asset, toToken: amountOut.asset },
      senderId: accountId,
      ...(keyId !== undefined && { keyId, spentOn: id }),
      ...(authority !== undefined && { authority }),
    },
  ]);
  if (posted === undefined) throw new Error('the ledger gave no outcome');
  return { id, outcome: posted };
}
