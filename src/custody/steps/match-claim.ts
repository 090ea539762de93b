import type { Queryable, Transaction } from '../../kernel/db/database.ts';
import { type AccountId, houseAccount } from '../../ledger/account-id.ts';
import type { HouseArrival } from './house-arrival.ts';

/** A payment by authorization, and the account to credit. */
export interface PaidClaim {
  readonly claimId: string;
  readonly account: AccountId;
}

/**
 * Finds the claim that an arrival pays, by its authorization and amount, no matter who submitted it. A claim that was written off is income
 * when it is paid after all.
 */
export async function findPaidClaim(db: Queryable, arrival: HouseArrival): Promise<PaidClaim | undefined> {
  const { chain, asset, atomic, address, proofs } = arrival;
  for (const proof of proofs) {
    const [kind, token, payer, nonce] = proof.split(':');
    if (kind !== 'eip3009') continue;
    const { rows } = await db.query<{ id: string; writtenOff: boolean }>(
      `SELECT id, written_off_at IS NOT NULL AS written_off FROM payment_claims
        WHERE chain = $1 AND token = $2 AND payer = $3 AND nonce = $4 AND asset = $5 AND atomic = $6 AND pay_to = $7
          AND arrived_at IS NULL`,
      [chain, token, payer, nonce, asset, atomic, address.toLowerCase()],
    );
    const [found] = rows;
    if (found === undefined) continue;
    return { claimId: found.id, account: houseAccount(found.writtenOff ? 'fees' : 'receivables', asset, chain) };
  }
  return undefined;
}

/** Marks the claim as paid in the commit that posts it, and reduces the payer's debt. */
export async function notePaid(
  tx: Transaction,
  { claimId, account }: PaidClaim,
  { txHash }: Pick<HouseArrival, 'txHash'>,
): Promise<void> {
  const ofClaim = `(p.chain, p.token, p.address) = (SELECT c.chain, c.token, c.payer FROM payment_claims c WHERE c.id = $1)`;
  await tx.query(`SELECT FROM payers p WHERE ${ofClaim} FOR UPDATE`, [claimId]);
  const { rows } = await tx.query<{ atomic: bigint; lowersDebt: boolean }>(
    `UPDATE payment_claims SET arrived_at = clock_timestamp(), tx_hash = $2, arrival_account = $3, lapsed_at = NULL
      WHERE id = $1 AND arrived_at IS NULL RETURNING atomic, written_off_at IS NOT NULL OR clears_debt AS lowers_debt`,
    [claimId, txHash, account],
  );
  const [paid] = rows;
  if (paid === undefined) throw new Error(`payment ${claimId} has arrived twice`);
  if (!paid.lowersDebt) return;
  await tx.query(`UPDATE payers p SET debt = greatest(debt - $2, 0) WHERE ${ofClaim}`, [claimId, paid.atomic]);
}
