import type { Transaction } from '../../kernel/db/database.ts';
import { gasSpent } from '../../ledger/gas-posting.ts';
import type { Posting } from '../../ledger/posting.ts';
import { chains } from '../../money/catalogue.ts';
import { askedElsewhere, type Refused } from './ask-provider.ts';
import type { ChainStep } from './chain-step.ts';
import type { StepEnd } from './take-step.ts';

/**
 * Writes the end of a step into the saga's own commit: what it took is promised no more. Answers the posting of its gas, for
 * the saga to post beside its own; undefined when somebody else has settled it, and then the saga has nothing to do.
 */
export async function settleStep(
  tx: Transaction,
  which: Pick<ChainStep, 'sagaId' | 'step'>,
  end: StepEnd,
): Promise<Posting[] | undefined> {
  const { sagaId, step } = which;
  if (end.state === 'failed' && end.refusal !== undefined) await requireRefused(tx, which, end.refusal);
  const { rows } = await tx.query<Pick<ChainStep, 'id' | 'chain'> & { of_user: boolean }>(
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
  // What is confirmed still arrives, if it has not yet; what failed never will, unless its receipt proves otherwise.
  if (end.state === 'failed') {
    await tx.query(
      `UPDATE chain_step_arrivals SET ended_at = clock_timestamp()
        WHERE step_id = $1 AND arrived_at IS NULL AND (known_by = 'transaction' OR proof IS NULL)`,
      [settled.id],
    );
  }
  const { chain, of_user } = settled;
  if (end.hash === undefined) return [];
  return gasSpent({
    chain,
    native: chains[chain].native,
    hash: end.hash,
    cost: end.gasCost,
    from: of_user ? 'gas_lent' : 'gas_tank',
  });
}

/**
 * A refusal says nothing of a request that another process has sent since: it may be taken. From here to the commit nobody
 * sends another.
 */
async function requireRefused(
  tx: Transaction,
  { sagaId, step }: Pick<ChainStep, 'sagaId' | 'step'>,
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
