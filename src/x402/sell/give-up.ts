import type { Hex } from 'viem';
import type { Network } from '../../chains/network.ts';
import type { StepEnd } from '../../custody/steps/take-step.ts';
import { onlyRow, type Transaction } from '../../kernel/db/database.ts';
import { readWallets } from './funds.ts';
import { type Settlement, submitStep } from './settlement.ts';

/** Whether a payment of a settlement that could not be sent for a while cannot move any more: gas would be spent on it in vain. */
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

/** A process that has asked the wallet provider is waited for at least so long before the request is taken for unanswered. */
const quietSeconds = 30;

/** A transaction that was never taken is not asked for any more. What its payments are worth is looked at anew. */
class GivenUp extends Error {
  override readonly name = 'GivenUp';
  readonly unansweredAt: string | null;

  constructor(unansweredAt: string | null) {
    super('a payment that it was to submit cannot move any more');
    this.unansweredAt = unansweredAt;
  }
}

export async function giveUp(tx: Transaction, { id }: Settlement): Promise<void> {
  const { sagaId, step } = submitStep(id);
  const { quiet, unanswered_at } = onlyRow(
    await tx.query<{ quiet: boolean; unanswered_at: string | null }>(
      `SELECT coalesce(unanswered_at < clock_timestamp() - make_interval(secs => $3), true) AS quiet, unanswered_at::text
         FROM chain_steps WHERE saga_id = $1 AND step = $2 FOR UPDATE`,
      [sagaId, step, quietSeconds],
    ),
  );
  if (quiet) throw new GivenUp(unanswered_at);
}

/** The provider was asked whether it has taken it before, and has not. */
export function endIfGivenUp(error: unknown): StepEnd {
  if (!(error instanceof GivenUp)) throw error;
  return { state: 'failed', reason: error.message, gasCost: 0n, refusal: { unansweredAt: error.unansweredAt } };
}
