import type { Transaction } from '../../kernel/db/database.ts';
import { gasSpent, type Posting } from '../../ledger/posting.ts';
import { chains } from '../../money/catalogue.ts';
import { askedElsewhere, type Refused } from './ask-provider.ts';
import type { ChainStep, StepName } from './chain-step.ts';
import type { StepEnd } from './take-step.ts';

/**
 * Records the end of a step in the saga's commit, and releases what it had set aside. Answers the posting of its gas, for the saga to post
 * in the same commit. Undefined when another process has settled the step.
 */
export async function settleStep(tx: Transaction, which: StepName, end: StepEnd): Promise<Posting[] | undefined> {
  const { sagaId, step } = which;
  if (end.state === 'failed' && end.refusal !== undefined) await requireRefused(tx, which, end.refusal);
  const { rows } = await tx.query<Pick<ChainStep, 'id' | 'chain'> & { ofUser: boolean }>(
    `UPDATE chain_steps SET state = $3, hash = coalesce($4, hash), block_number = $5, gas_cost = $6, reason = $7,
        settled_at = clock_timestamp()
      WHERE saga_id = $1 AND step = $2 AND settled_at IS NULL RETURNING id, chain, user_wallet_id IS NOT NULL AS of_user`,
    [
      sagaId,
      step,
      end.state,
      end.hash ?? null,
      end.state === 'confirmed' ? end.blockNumber : null,
      end.gasCost,
      end.state === 'failed' ? end.reason : null,
    ],
  );
  const [settled] = rows;
  if (settled === undefined) return undefined;
  await tx.query('UPDATE chain_step_leaves SET settled_at = clock_timestamp() WHERE step_id = $1', [settled.id]);
  // The arrivals of a confirmed step still come. Those of a failed one do not, unless a receipt proves otherwise.
  if (end.state === 'failed') {
    await tx.query(
      `UPDATE chain_step_arrivals SET ended_at = clock_timestamp()
        WHERE step_id = $1 AND arrived_at IS NULL AND (known_by = 'transaction' OR proof IS NULL)`,
      [settled.id],
    );
  }
  const { chain, ofUser } = settled;
  if (end.hash === undefined) return [];
  return gasSpent({
    chain,
    native: chains[chain].native,
    hash: end.hash,
    cost: end.gasCost,
    from: ofUser ? 'gas_lent' : 'gas_tank',
  });
}

/**
 * Another process may have sent a request since the refusal, and the provider may have accepted that one. The row lock prevents further
 * requests until the commit.
 */
async function requireRefused(
  tx: Transaction,
  { sagaId, step }: StepName,
  { unansweredAt }: Pick<Refused, 'unansweredAt'>,
): Promise<void> {
  const { rows } = await tx.query<{ refused: boolean }>(
    `SELECT settled_at IS NOT NULL
         OR provider_ref IS NULL AND unanswered_at IS NOT DISTINCT FROM $3::timestamptz AS refused
       FROM chain_steps WHERE saga_id = $1 AND step = $2 FOR UPDATE`,
    [sagaId, step, unansweredAt],
  );
  if (rows[0]?.refused !== true) throw askedElsewhere();
}
