import type { Networks } from '../../chains/network.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Database, Queryable } from '../../kernel/db/database.ts';
import { newId } from '../../kernel/ids/ids.ts';
import { type Loop, startLoop } from '../../kernel/jobs/loop.ts';
import type { Wakes } from '../../kernel/jobs/wakes.ts';
import type { Checkpoint } from '../../kernel/sagas/checkpoint.ts';
import { houseAccount } from '../../ledger/account-id.ts';
import { postOrThrow } from '../../ledger/ledger.ts';
import { amountOf } from '../../money/amount.ts';
import { claimsTopic } from './claim-payments.ts';
import { lockPayers } from './end-claims.ts';
import { type EndingParts, endLapsed } from './end-unpayable.ts';
import { openSettlement, usualGathering } from './open-settlement.ts';
import { remember, requireHome } from './payment-receiver.ts';
import { paymentChain } from './terms.ts';

/** Cache time. */
const keepMs = 1_000;

/** How long a sent transaction may take to arrive. */
const arrivesWithinSeconds = 600;

/**
 * Whether our settling is late, because no worker runs or the settlement wallet has no gas. Payments that fail because
 * of the payer do not count; otherwise a stranger could stop all credit. A transaction should be sent `afterSeconds` after
 * its payment was served or scheduled for a retry.
 */
export function createOverdueCheck(db: Queryable, clock: Clock, afterSeconds: number): () => Promise<boolean> {
  async function look(): Promise<boolean> {
    const { rows } = await db.query(
      `SELECT FROM payment_claims c LEFT JOIN chain_steps s ON s.saga_id = c.settlement_id AND s.step = 'submit'
        WHERE c.chain = $1 AND c.asset = 'USDC' AND c.served_at IS NOT NULL AND c.earned_at IS NULL AND c.written_off_at IS NULL
          AND c.lapsed_at IS NULL AND c.arrived_at IS NULL AND c.payer_failed_at IS NULL AND NOT c.submitted_elsewhere
          AND greatest(c.served_at, c.retry_at) < clock_timestamp() - make_interval(secs =>
            $2 + CASE WHEN s.provider_ref IS NULL THEN 0 ELSE $3 END)
        LIMIT 1`,
      [paymentChain, afterSeconds, arrivesWithinSeconds],
    );
    return rows.length > 0;
  }

  return remember(look, { clock, keepMs });
}

/** A retry with the same payment can take the claim over for this long. */
const abandonedSeconds = 60;

/** Deletes claims that a crashed process left and no retry took over. Nothing was charged for them. */
async function forgetAbandoned(db: Database): Promise<void> {
  const { rows } = await db.query<{ id: string }>(
    `SELECT id FROM payment_claims
      WHERE leased_until < clock_timestamp() - make_interval(secs => $1) AND served_at IS NULL AND arrived_at IS NULL
        AND written_off_at IS NULL AND lapsed_at IS NULL AND NOT prepaid LIMIT 500`,
    [abandonedSeconds],
  );
  for (const { id } of rows) {
    await db.transaction(async (tx) => {
      await lockPayers(tx, [id]);
      await tx.query(
        `DELETE FROM payment_claims WHERE id = $1 AND served_at IS NULL AND arrived_at IS NULL
            AND leased_until < clock_timestamp() - make_interval(secs => $2)`,
        [id, abandonedSeconds],
      );
    });
  }
}

const answersAtOnce = 10_000;

/** Answers are kept only for retries; the record of the payment does not need them. */
export async function forgetAnswers(db: Database): Promise<void> {
  for (;;) {
    const { rowCount } = await db.query(
      `UPDATE payment_claims SET answer = NULL, answer_deleted = true WHERE id IN (
         SELECT id FROM payment_claims
          WHERE NOT answer_deleted AND lapsed_at IS NULL AND claimed_at < clock_timestamp() - interval '2 days'
            AND served_at < clock_timestamp() - interval '2 days'
          ORDER BY claimed_at LIMIT $1)`,
      [answersAtOnce],
    );
    if (rowCount !== answersAtOnce) return;
  }
}

const atOnce = 1_000;

/** Books served calls whose payment has arrived as income: one posting, in the commit that marks them. */
async function earnCalls({ db, ledger }: SettleOptions): Promise<void> {
  await db.transaction(async (tx) => {
    const { rows } = await tx.query<{ atomic: bigint }>(
      `UPDATE payment_claims SET earned_at = clock_timestamp() WHERE id IN (
         SELECT id FROM payment_claims
          WHERE chain = $1 AND asset = 'USDC' AND served_at IS NOT NULL AND arrived_at IS NOT NULL AND earned_at IS NULL
            AND written_off_at IS NULL
          LIMIT $2 FOR UPDATE SKIP LOCKED)
       RETURNING atomic`,
      [paymentChain, atOnce],
    );
    if (rows.length === 0) return;
    const amount = amountOf(
      'USDC',
      rows.reduce((sum, { atomic }) => sum + atomic, 0n),
    );
    await postOrThrow(tx, ledger, [
      {
        type: 'calls_earned',
        amount,
        reference: `calls:${newId('stl')}`,
        details: { calls: rows.length },
        entries: [
          { account: houseAccount('calls_in_transit', 'USDC', paymentChain), atomic: -amount.atomic },
          { account: houseAccount('fees', 'USDC', paymentChain), atomic: amount.atomic },
        ],
      },
    ]);
  });
}

export interface SettleOptions extends Omit<EndingParts, 'network'> {
  readonly networks: Networks;
  readonly checkpoint: Checkpoint;
  readonly gatherMs: number;
  readonly wakes: Wakes;
}

/** False when nothing was open. */
async function settlePayments(options: SettleOptions): Promise<boolean> {
  const { db, gatherMs } = options;
  if (!(await isAnythingOpen(db))) return false;
  await forgetAbandoned(db);
  const parts = { ...options, network: requireHome(options.networks) };
  while ((await openSettlement(parts, { ...usualGathering, gatherMs })) === usualGathering.most);
  await endLapsed(parts);
  await earnCalls(options);
  return true;
}

/** Two index look-ups, so that an idle service does almost no work. What is leased and matters here is open too. */
async function isAnythingOpen(db: Database): Promise<boolean> {
  const { rows } = await db.query<{ open: boolean }>(
    `SELECT EXISTS (
        SELECT FROM payment_claims WHERE arrived_at IS NULL AND written_off_at IS NULL AND lapsed_at IS NULL) OR EXISTS (
        SELECT FROM payment_claims WHERE served_at IS NOT NULL AND arrived_at IS NOT NULL AND earned_at IS NULL
          AND written_off_at IS NULL) AS open`,
  );
  return rows[0]?.open === true;
}

/** A process that is killed after its claims are committed notifies nobody. */
const longestRestMs = 5_000;

/**
 * Runs in every worker; each takes only claims that no other has taken. It rests until a payment is claimed: from then on
 * the claim is open until it is earned, ended or deleted.
 */
export function startSettling(options: SettleOptions): Loop {
  const { wakes } = options;
  const pollMs = Math.min(1_000, options.gatherMs / 4);
  return startLoop({
    logger: options.logger,
    fields: {},
    trouble: 'payments for calls cannot be settled',
    rest: { wakes, topic: claimsTopic },
    paceMs: pollMs,
    async run() {
      return (await settlePayments(options)) ? pollMs : Math.min(wakes.restMs(pollMs), longestRestMs);
    },
  });
}
