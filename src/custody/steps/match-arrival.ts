import type { Hex } from 'viem';
import type { Queryable, Transaction } from '../../kernel/db/database.ts';
import { wakeSaga } from '../../kernel/sagas/wake-saga.ts';
import { type AccountId, houseAccount } from '../../ledger/account-id.ts';
import type { Asset, ChainId } from '../../money/catalogue.ts';
import type { ChainStep, StepName } from './chain-step.ts';
import { hasUnexplainedTransactions } from './unknown-calls.ts';

/** A payment by authorization, and the account to credit. */
export interface PaidClaim {
  readonly claimId: string;
  readonly account: AccountId;
  /** Which account it is depends on this. */
  readonly isWrittenOff: boolean;
}

/** Finds the claim that an arrival pays, by its authorization and amount, no matter who submitted it. */
async function findPaidClaim(db: Queryable, arrival: HouseArrival): Promise<PaidClaim | undefined> {
  return (await findPaidClaims(db, arrival.chain, [arrival]))[0];
}

/** Whether what its receipt proves may name a claim. */
export function mayPayClaim({ proofs }: Pick<HouseArrival, 'proofs'>): boolean {
  return proofs.some(isAuthorization);
}

const isAuthorization = (proof: string) => proof.startsWith('eip3009:');

/** For each arrival the claim that it pays, if any. A claim that was written off is income when it is paid after all. */
export async function findPaidClaims(
  db: Queryable,
  chain: ChainId,
  arrivals: readonly Pick<HouseArrival, 'asset' | 'atomic' | 'address' | 'proofs'>[],
): Promise<readonly (PaidClaim | undefined)[]> {
  const named = arrivals.flatMap(({ asset, atomic, address, proofs }, place) =>
    proofs.filter(isAuthorization).map((proof) => {
      const [, token, payer, nonce] = proof.split(':');
      return { place, token, payer, nonce, asset, atomic, payTo: address.toLowerCase() };
    }),
  );
  const found: (PaidClaim | undefined)[] = arrivals.map(() => undefined);
  if (named.length === 0) return found;
  const { rows } = await db.query<{ place: number; id: string; writtenOff: boolean }>(
    `SELECT DISTINCT ON (g.place) g.place, c.id, c.written_off_at IS NOT NULL AS written_off
       FROM unnest($2::integer[], $3::text[], $4::text[], $5::text[], $6::text[], $7::numeric[], $8::text[])
            WITH ORDINALITY g (place, token, payer, nonce, asset, atomic, pay_to, nth)
      CROSS JOIN LATERAL (
        SELECT id, written_off_at FROM payment_claims
         WHERE chain = $1 AND token = g.token AND payer = g.payer AND nonce = g.nonce AND asset = g.asset
           AND atomic = g.atomic AND pay_to = g.pay_to AND arrived_at IS NULL LIMIT 1) c
      ORDER BY g.place, g.nth`,
    [
      chain,
      named.map(({ place }) => place),
      named.map(({ token }) => token),
      named.map(({ payer }) => payer),
      named.map(({ nonce }) => nonce),
      named.map(({ asset }) => asset),
      named.map(({ atomic }) => atomic),
      named.map(({ payTo }) => payTo),
    ],
  );
  for (const { place, id, writtenOff } of rows) {
    const asset = arrivals[place]?.asset;
    if (asset === undefined) continue;
    const account = houseAccount(writtenOff ? 'fees' : 'receivables', asset, chain);
    found[place] = { claimId: id, account, isWrittenOff: writtenOff };
  }
  return found;
}

/** Marks the claim as paid in the commit that posts it, and reduces the payer's debt. */
export async function notePaid(
  tx: Transaction,
  paid: PaidClaim,
  { txHash }: Pick<HouseArrival, 'txHash'>,
): Promise<void> {
  if ((await notePaidTogether(tx, [{ ...paid, txHash }])) === 0)
    throw new Error(`payment ${paid.claimId} has arrived twice, or was written off meanwhile`);
}

/**
 * Returns how many claims it has marked. Those that have arrived or were written off meanwhile are left as they are. Payers are locked first and
 * then claims, each in the one order that all transactions keep.
 */
export async function notePaidTogether(
  tx: Transaction,
  paid: readonly (PaidClaim & Pick<HouseArrival, 'txHash'>)[],
): Promise<number> {
  const ids = paid.map(({ claimId }) => claimId);
  await tx.query(
    `SELECT FROM payers p
      WHERE (p.chain, p.token, p.address) IN (SELECT c.chain, c.token, c.payer FROM payment_claims c WHERE c.id = ANY ($1))
      ORDER BY p.chain, p.token, p.address FOR UPDATE`,
    [ids],
  );
  const { rows } = await tx.query<{ id: string; lowersDebt: boolean }>(
    `WITH held AS MATERIALIZED (
       SELECT id FROM payment_claims WHERE id = ANY ($1) AND arrived_at IS NULL ORDER BY id FOR UPDATE)
     UPDATE payment_claims c SET arrived_at = clock_timestamp(), tx_hash = g.tx_hash, arrival_account = g.account,
         lapsed_at = NULL
       FROM held JOIN unnest($1::text[], $2::text[], $3::bigint[], $4::boolean[]) g (id, tx_hash, account, written_off)
         USING (id)
      WHERE c.id = held.id AND c.arrived_at IS NULL AND (c.written_off_at IS NOT NULL) = g.written_off
     RETURNING c.id, c.written_off_at IS NOT NULL OR c.clears_debt AS lowers_debt`,
    [
      ids,
      paid.map(({ txHash }) => txHash),
      paid.map(({ account }) => account),
      paid.map(({ isWrittenOff }) => isWrittenOff),
    ],
  );
  const lowering = rows.filter(({ lowersDebt }) => lowersDebt).map(({ id }) => id);
  if (lowering.length > 0) {
    await tx.query(
      `UPDATE payers p SET debt = greatest(p.debt - c.atomic, 0)
         FROM (SELECT chain, token, payer, sum(atomic) AS atomic FROM payment_claims WHERE id = ANY ($1) GROUP BY 1, 2, 3) c
        WHERE (p.chain, p.token, p.address) = (c.chain, c.token, c.payer)`,
      [lowering],
    );
  }
  return rows.length;
}

/** Tokens that arrived at a house wallet, and what their receipt proves. */
export interface HouseArrival {
  readonly chain: ChainId;
  readonly txHash: Hex;
  readonly address: Hex;
  readonly asset: Asset;
  readonly atomic: bigint;
  readonly proofs: readonly string[];
  /** A step that was submitted later cannot have caused it. */
  readonly seenAt: Date;
}

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
  if (first === undefined) return { is: (await hasUnexplainedTransactions(tx)) ? 'undecided' : 'surplus' };
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
export async function endArrivals(tx: Transaction, { sagaId, step }: StepName): Promise<void> {
  await tx.query(
    `UPDATE chain_step_arrivals e SET ended_at = clock_timestamp() FROM chain_steps s
      WHERE s.id = e.step_id AND s.saga_id = $1 AND s.step = $2 AND e.arrived_at IS NULL AND e.ended_at IS NULL`,
    [sagaId, step],
  );
}

/** The step has brought nothing of an asset that was possible but not certain. */
export async function dropArrival(
  tx: Transaction,
  { sagaId, step, asset }: StepName & { readonly asset: Asset },
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
  { sagaId, step, asset, proof }: StepName & { readonly asset: Asset; readonly proof: string },
): Promise<void> {
  await tx.query(
    `UPDATE chain_step_arrivals e SET proof = $4 FROM chain_steps s
      WHERE s.id = e.step_id AND s.saga_id = $1 AND s.step = $2 AND e.asset = $3 AND e.known_by = 'proof'
        AND e.proof IS NULL`,
    [sagaId, step, asset, proof],
  );
}

/** How much of an asset a step has brought, by the books. Undefined while nothing has arrived. */
export async function arrivedAmount(
  db: Queryable,
  { id }: Pick<ChainStep, 'id'>,
  asset: Asset,
): Promise<bigint | undefined> {
  const { rows } = await db.query<{ atomic: bigint | null }>(
    'SELECT sum(atomic) AS atomic FROM deposits WHERE step_id = $1 AND asset = $2',
    [id, asset],
  );
  return rows[0]?.atomic ?? undefined;
}
