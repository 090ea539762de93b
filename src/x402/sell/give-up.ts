import type { Hex } from 'viem';
import type { Network } from '../../chains/network.ts';
import type { StepEnd } from '../../custody/steps/take-step.ts';
import { onlyRow, type Transaction } from '../../kernel/db/database.ts';
import { readWallets } from './funds.ts';
import { type Settlement, submitStep } from './settlement.ts';

/** Whether a payment of a delayed settlement can no longer move, so that submitting it would waste gas. */
export async function hasChanged(network: Network, token: Hex, { claims }: Settlement): Promise<boolean> {
  const payments = claims.map(({ authorization: { from, nonce } }) => ({ payer: from, nonce }));
  const payers = [...new Set(payments.map(({ payer }) => payer))];
  const { balances, used } = await readWallets(network, token, payers, payments);
  const { timestamp } = await network.client.getBlock();
  const left = new Map(balances);
  return claims.some(({ authorization }, index) => {
    const { from, atomic } = authorization;
    const rest = (left.get(from) ?? 0n) - atomic;
    left.set(from, rest);
    return used[index] === true || rest < 0n || timestamp >= authorization.validBefore;
  });
}

/** How long to wait for a provider's answer before the request counts as unanswered. */
const quietSeconds = 30;

/** The provider never took this transaction, so it is not requested again. Its payments are checked anew. */
class GivenUp extends Error {
  override readonly name = 'GivenUp';
  readonly unansweredAt: string | null;

  constructor(unansweredAt: string | null) {
    super('a payment in the settlement can no longer move');
    this.unansweredAt = unansweredAt;
  }
}

export async function giveUp(tx: Transaction, { id }: Settlement): Promise<void> {
  const { sagaId, step } = submitStep(id);
  const { quiet, unansweredAt } = onlyRow(
    await tx.query<{ quiet: boolean; unansweredAt: string | null }>(
      `SELECT coalesce(unanswered_at < clock_timestamp() - make_interval(secs => $3), true) AS quiet, unanswered_at::text
         FROM chain_steps WHERE saga_id = $1 AND step = $2 FOR UPDATE`,
      [sagaId, step, quietSeconds],
    ),
  );
  if (quiet) throw new GivenUp(unansweredAt);
}

/** Safe, because the provider has confirmed before that it did not take the transaction. */
export function endIfGivenUp(error: unknown): StepEnd {
  if (!(error instanceof GivenUp)) throw error;
  return { state: 'failed', reason: error.message, gasCost: 0n, refusal: { unansweredAt: error.unansweredAt } };
}
