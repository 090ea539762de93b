import type { Networks } from '../../chains/network.ts';
import type { Database } from '../../kernel/db/database.ts';
import { type Loop, startLoop } from '../../kernel/jobs/loop.ts';
import type { Checkpoint } from '../../kernel/sagas/checkpoint.ts';
import { earnCalls } from './earn-calls.ts';
import { type EndingParts, endLapsed } from './end-unpayable.ts';
import { forgetAbandoned } from './forget-claims.ts';
import { openSettlement, usualGathering } from './open-settlement.ts';
import { requireHome } from './till.ts';

export interface SettleOptions extends Omit<EndingParts, 'network'> {
  readonly networks: Networks;
  readonly checkpoint: Checkpoint;
  readonly gatherMs: number;
}

async function settlePayments(options: SettleOptions): Promise<void> {
  const { db, gatherMs } = options;
  if (!(await isAnythingOpen(db))) return;
  await forgetAbandoned(db);
  const parts = { ...options, network: requireHome(options.networks) };
  while ((await openSettlement(parts, { ...usualGathering, gatherMs })) === usualGathering.most);
  await endLapsed(parts);
  await earnCalls(options);
}

/** Three index look-ups, so that an idle service does almost no work. */
async function isAnythingOpen(db: Database): Promise<boolean> {
  const { rows } = await db.query<{ open: boolean }>(
    `SELECT EXISTS (SELECT FROM payment_claims WHERE leased_until IS NOT NULL) OR EXISTS (
        SELECT FROM payment_claims WHERE arrived_at IS NULL AND written_off_at IS NULL AND lapsed_at IS NULL) OR EXISTS (
        SELECT FROM payment_claims WHERE served_at IS NOT NULL AND earned_at IS NULL AND written_off_at IS NULL) AS open`,
  );
  return rows[0]?.open === true;
}

/** Runs in every worker; each takes only claims that no other has taken. */
export function startSettling(options: SettleOptions): Loop {
  const pollMs = Math.min(1_000, options.gatherMs / 4);
  return startLoop({
    logger: options.logger,
    fields: {},
    trouble: 'payments for calls cannot be settled',
    async run() {
      await settlePayments(options);
      return pollMs;
    },
  });
}
