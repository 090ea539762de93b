import type { Queryable, Transaction } from '../../kernel/db/database.ts';
import { wakeSaga } from '../../kernel/sagas/wake-saga.ts';
import type { AccountId } from '../../ledger/account-id.ts';
import type { Asset } from '../../money/catalogue.ts';
import type { HouseArrival } from './house-arrival.ts';
import { findPaidClaim, type PaidClaim } from './match-claim.ts';
import { hasUnexplained } from './unknown-calls.ts';

export type Match =
  /** A step expects it, and names the account to credit. */
  | { readonly is: 'expected'; readonly stepId: string; readonly account: AccountId }
  /** It is the payment of an x402 claim, no matter who submitted it. */
  | ({ readonly is: 'paid' } & PaidClaim)
  /** A step may have caused it. That is known once the step has its transaction or proof, or once all unknown transactions are explained. */
  | { readonly is: 'undecided' }
  /** No step can have caused it. */
  | { readonly is: 'surplus' };

/**
 * Finds the step that expects an arrival, by our own transaction or by what the receipt proves, no matter who sent it. An arrival with the
 * right proof but another amount is surplus: the signer of an authorization can sign another one with the same nonce.
 */
export async function matchArrival(tx: Queryable, arrival: HouseArrival): Promise<Match> {
  const { chain, address, asset, txHash, proofs, atomic, seenAt } = arrival;
  const paid = await findPaidClaim(tx, arrival);
  if (paid !== undefined) return { is: 'paid', ...paid };
  const { rows } = await tx.query<{ stepId: string; accountId: bigint; certain: boolean }>(
    `WITH candidates AS (
       SELECT e.* FROM chain_step_arrivals e
        WHERE e.chain = $1 AND e.address = $2 AND e.asset = $3 AND e.arrived_at IS NULL AND e.ended_at IS NULL
       UNION
       -- Our own transaction may bring it in several transfers.
       SELECT e.* FROM chain_steps s JOIN chain_step_arrivals e ON e.step_id = s.id
        WHERE s.chain = $1 AND s.hash = $5 AND e.chain = $1 AND e.address = $2 AND e.asset = $3
          AND e.known_by = 'transaction'
     ), expected AS (
       SELECT e.step_id, e.account_id,
              CASE e.known_by
                WHEN 'proof' THEN coalesce(e.proof = ANY ($4), false) AND e.arrived_at IS NULL
                  AND (e.atomic IS NULL OR e.atomic = $6)
                ELSE s.hash = $5 OR $5 = ANY (s.hashes) OR EXISTS (
                  SELECT FROM key_transaction_attempts a WHERE a.hash = $5 AND a.transaction_id = s.id)
              END AS certain,
              e.arrived_at IS NULL AND e.ended_at IS NULL AND (e.atomic IS NULL OR e.atomic = $6) AND CASE e.known_by
                WHEN 'proof' THEN e.proof IS NULL AND s.created_at <= $7
                ELSE s.asked_at <= $7 AND s.settled_at IS NULL
              END AS possible
         FROM candidates e JOIN chain_steps s ON s.id = e.step_id
     )
     SELECT step_id, account_id, coalesce(certain, false) AS certain FROM expected WHERE certain OR possible
      ORDER BY certain DESC NULLS LAST, step_id`,
    [chain, address.toLowerCase(), asset, proofs, txHash, atomic, seenAt],
  );
  const [first] = rows;
  // After a restore from a backup the step that caused it may not be planned yet.
  if (first === undefined) return { is: (await hasUnexplained(tx)) ? 'undecided' : 'surplus' };
  if (!first.certain) return { is: 'undecided' };
  return { is: 'expected', stepId: first.stepId, account: Number(first.accountId) as AccountId };
}

/** Marks the arrival and wakes the saga, in the caller's commit. */
export async function noteArrival(
  tx: Transaction,
  stepId: string,
  { chain, asset }: Pick<HouseArrival, 'chain' | 'asset'>,
): Promise<void> {
  await tx.query(
    'UPDATE chain_step_arrivals SET arrived_at = coalesce(arrived_at, clock_timestamp()) WHERE step_id = $1 AND asset = $2',
    [stepId, asset],
  );
  const { rows } = await tx.query<{ saga: string; sagaId: string }>(
    'SELECT saga, saga_id FROM chain_steps WHERE id = $1',
    [stepId],
  );
  for (const { saga, sagaId: id } of rows) await wakeSaga(tx, { saga, id, lane: chain });
}

/** The transaction that would have caused the arrivals is undone. */
export async function endArrivals(
  tx: Transaction,
  { sagaId, step }: { readonly sagaId: string; readonly step: string },
): Promise<void> {
  await tx.query(
    `UPDATE chain_step_arrivals e SET ended_at = clock_timestamp() FROM chain_steps s
      WHERE s.id = e.step_id AND s.saga_id = $1 AND s.step = $2 AND e.arrived_at IS NULL AND e.ended_at IS NULL`,
    [sagaId, step],
  );
}

/** The step has brought nothing of an asset that was possible but not certain. */
export async function dropArrival(
  tx: Transaction,
  { sagaId, step, asset }: { readonly sagaId: string; readonly step: string; readonly asset: Asset },
): Promise<void> {
  await tx.query(
    `DELETE FROM chain_step_arrivals e USING chain_steps s
      WHERE s.id = e.step_id AND s.saga_id = $1 AND s.step = $2 AND e.asset = $3 AND e.arrived_at IS NULL`,
    [sagaId, step, asset],
  );
}

/** Sets a proof that becomes known after planning, such as the nonce of a CCTP message. */
export async function nameProof(
  tx: Transaction,
  { sagaId, step, asset, proof }: { sagaId: string; step: string; asset: Asset; proof: string },
): Promise<void> {
  await tx.query(
    `UPDATE chain_step_arrivals e SET proof = $4 FROM chain_steps s
      WHERE s.id = e.step_id AND s.saga_id = $1 AND s.step = $2 AND e.asset = $3 AND e.known_by = 'proof'
        AND e.proof IS NULL`,
    [sagaId, step, asset, proof],
  );
}
