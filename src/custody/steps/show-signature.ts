import type { Transaction } from '../../kernel/db/database.ts';
import type { ChainStep } from './chain-step.ts';

/** Part of the commit before a signed authorization is shown to its recipient: from then on the recipient may use it. */
export async function noteShown(tx: Transaction, { sagaId, step }: Pick<ChainStep, 'sagaId' | 'step'>): Promise<void> {
  await tx.query(
    `UPDATE chain_steps SET state = 'asked', asked_at = coalesce(asked_at, clock_timestamp())
      WHERE saga_id = $1 AND step = $2 AND state = 'ready'`,
    [sagaId, step],
  );
}
