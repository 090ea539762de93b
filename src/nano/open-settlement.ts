import { planStep } from '../chain-steps/plan-step.ts';
import { type Checkpoint, noCheckpoint } from '../checkpoint.ts';
import type { Database, Transaction } from '../db/database.ts';
import { newId } from '../ids.ts';
import { wakeSaga } from '../sagas/wake-saga.ts';
import { houseWallet } from '../wallets/house-wallets.ts';
import { settlementSaga } from './saga.ts';
import { submitStep } from './settlement.ts';
import { homeOfPayments } from './terms.ts';

export interface GatheringRules {
  /** For so long payments gather, so that many share one transaction. */
  readonly gatherMs: number;
  /** So many share one at most. */
  readonly most: number;
  /** One that is valid for no longer than this does not wait for others. */
  readonly urgentSeconds: number;
}

export const usualGathering = { most: 100, urgentSeconds: 120 } as const;

const asset = 'USDC';

/**
 * Takes the payments that wait, the most urgent first, and writes down the transaction that is to submit them: one commit.
 * Answers how many; none when it is not time yet.
 */
export async function openSettlement(
  { db, checkpoint = noCheckpoint }: { readonly db: Database; readonly checkpoint?: Checkpoint },
  rules: GatheringRules,
): Promise<number> {
  const opened = await db.transaction(async (tx) => {
    const ids = await takeWaiting(tx, rules);
    if (ids.length === 0) return 0;
    const id = newId('stl');
    const chain = homeOfPayments;
    const wallet = await houseWallet(tx, 'settlement', chain);
    await tx.query(
      "INSERT INTO settlements (id, chain, asset, wallet_id, status) VALUES ($1, $2, $3, $4, 'submitting')",
      [id, chain, asset, wallet.id],
    );
    await tx.query('UPDATE payment_claims SET settlement_id = $1, attempts = attempts + 1 WHERE id = ANY ($2)', [
      id,
      ids,
    ]);
    await planStep(tx, { saga: settlementSaga.name, ...submitStep(id), chain, wallet });
    await wakeSaga(tx, { saga: settlementSaga.name, id, lane: chain });
    return ids.length;
  });
  if (opened > 0) checkpoint('settlement.opened');
  return opened;
}

interface WaitingRow {
  readonly id: string;
  readonly due: boolean;
}

/** Whoever is a little later than others goes with them. What has to arrive before it is served waits for nobody. */
async function takeWaiting(tx: Transaction, { gatherMs, most, urgentSeconds }: GatheringRules): Promise<string[]> {
  const { rows } = await tx.query<WaitingRow>(
    `SELECT id, prepaid OR valid_before < extract(epoch FROM clock_timestamp()) + $4 OR attempts > 0
            OR served_at <= clock_timestamp() - make_interval(secs => $3) AS due
       FROM payment_claims
      WHERE chain = $1 AND asset = $2 AND arrived_at IS NULL AND written_off_at IS NULL AND lapsed_at IS NULL
        AND settlement_id IS NULL AND NOT submitted_elsewhere AND (served_at IS NOT NULL OR prepaid)
        AND (retry_at IS NULL OR retry_at <= clock_timestamp())
        AND valid_before > extract(epoch FROM clock_timestamp())
      ORDER BY valid_before, id LIMIT $5 FOR UPDATE SKIP LOCKED`,
    [homeOfPayments, asset, gatherMs / 1_000, urgentSeconds, most],
  );
  return rows.length === most || rows.some(({ due }) => due) ? rows.map(({ id }) => id) : [];
}
