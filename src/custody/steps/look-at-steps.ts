import type { Queryable, Transaction } from '../../kernel/db/database.ts';
import { wakeSaga } from '../../kernel/sagas/wake-saga.ts';

/** Whether a house wallet has an open step, or an open step pays into it. */
export async function isWalletBusy(db: Queryable, walletId: string): Promise<boolean> {
  const { rows } = await db.query(
    `SELECT FROM chain_steps WHERE wallet_id = $1 AND settled_at IS NULL
     UNION ALL
     SELECT FROM chain_steps s JOIN chain_step_leaves l ON l.step_id = s.id
       JOIN house_wallets w ON w.id = $1 AND w.chain = s.chain AND lower(w.address) = l.recipient
      WHERE s.settled_at IS NULL
     LIMIT 1`,
    [walletId],
  );
  return rows.length > 0;
}

/** The provider reports news about its transaction: the saga runs now instead of at its next poll. */
export async function wakeStep(tx: Transaction, providerRef: string): Promise<void> {
  const { rows } = await tx.query<{ saga: string; sagaId: string; chain: string }>(
    'SELECT saga, saga_id, chain FROM chain_steps WHERE provider_ref = $1 AND settled_at IS NULL',
    [providerRef],
  );
  for (const { saga, sagaId: id, chain } of rows) await wakeSaga(tx, { saga, id, lane: chain });
}
