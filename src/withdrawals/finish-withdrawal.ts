import type { Hex } from 'viem';
import { chains } from '../chains/chains.ts';
import type { Database, Transaction } from '../db/database.ts';
import { houseAccount } from '../ledger/account-id.ts';
import { gasSpent } from '../ledger/gas-posting.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Posting } from '../ledger/posting.ts';
import { sourceOf, type Withdrawal } from './withdrawal.ts';

interface FinishParts {
  readonly db: Database;
  readonly ledger: Ledger;
}

/** It arrived: the money leaves the books as it has left the chain, and the fee is earned. One commit. */
export async function completeWithdrawal(
  { db, ledger }: FinishParts,
  { id, accountId, chain, address, gross, fee, net }: Withdrawal,
  { hash, blockNumber, gasCost }: { readonly hash: Hex; readonly blockNumber: bigint; readonly gasCost: bigint },
): Promise<void> {
  const { asset } = gross;
  await db.transaction(async (tx) => {
    const { rowCount } = await tx.query(
      `UPDATE withdrawals SET status = 'complete', tx_hash = $2, block_number = $3, error = NULL, updated_at = now(),
              finished_at = now()
        WHERE id = $1 AND status = 'sending'`,
      [id, hash, blockNumber],
    );
    if (rowCount === 0) return;
    await post(tx, ledger, [
      {
        type: 'withdrawal_completed',
        amount: gross,
        fee,
        entries: [
          { account: houseAccount('withdrawals_in_transit', asset, chain), atomic: -gross.atomic },
          { account: houseAccount('fees', asset, chain), atomic: fee.atomic },
          { account: houseAccount('custody', asset, chain), atomic: net.atomic },
        ],
        reference: `withdrawal:${id}:end`,
        details: { withdrawalId: id, chain, address, txHash: hash },
        ...(accountId !== null && { senderId: accountId, senderEvent: 'withdrawal.completed' }),
      },
      ...gasSpent({ chain, native: chains[chain].native, hash, cost: gasCost }),
    ]);
  });
}

/** It will never arrive: everything goes back where it came from, the fee too. One commit. False when it was over before. */
export async function failWithdrawal(
  { db, ledger }: FinishParts,
  withdrawal: Withdrawal,
  { reason, hash, gasCost }: { readonly reason: string; readonly hash?: Hex; readonly gasCost: bigint },
): Promise<boolean> {
  const { id, accountId, chain, address, gross, status } = withdrawal;
  return db.transaction(async (tx) => {
    const { rowCount } = await tx.query(
      `UPDATE withdrawals SET status = 'failed', tx_hash = coalesce($2, tx_hash), error = $3, updated_at = now(),
              finished_at = now()
        WHERE id = $1 AND status = $4`,
      [id, hash ?? null, reason, status],
    );
    if (rowCount === 0) return false;
    await post(tx, ledger, [
      {
        type: 'withdrawal_returned',
        amount: gross,
        entries: [
          { account: houseAccount('withdrawals_in_transit', gross.asset, chain), atomic: -gross.atomic },
          { account: sourceOf(withdrawal), atomic: gross.atomic },
        ],
        reference: `withdrawal:${id}:end`,
        description: 'A withdrawal could not be paid out.',
        details: { withdrawalId: id, chain, address, error: reason },
        ...(accountId !== null && { recipientId: accountId, recipientEvent: 'withdrawal.failed' }),
      },
      ...(hash === undefined ? [] : gasSpent({ chain, native: chains[chain].native, hash, cost: gasCost })),
    ]);
    return true;
  });
}

async function post(tx: Transaction, ledger: Ledger, postings: readonly Posting[]): Promise<void> {
  for (const { outcome } of await ledger.postWithin(tx, postings)) {
    if (outcome !== 'posted') throw new Error(`the end of a withdrawal was not posted: ${outcome}`);
  }
}
