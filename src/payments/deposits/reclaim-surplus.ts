import { noteArrival } from '../../custody/steps/match-arrival.ts';
import type { Transaction } from '../../kernel/db/database.ts';
import { type AccountId, houseAccount } from '../../ledger/account-id.ts';
import { amountOf } from '../../money/amount.ts';
import type { Asset, ChainId } from '../../money/catalogue.ts';
import type { CreditParts } from './credit-deposits.ts';

interface Found {
  readonly depositId: string;
  readonly stepId: string;
  readonly asset: Asset;
  readonly atomic: bigint;
  readonly accountId: bigint;
}

/** Where unmatched arrivals are booked: as surplus, or as equity once the operator has taken it as float. */
const keepers = ['surplus', 'equity'] as const;

/**
 * After a restore from a backup the watcher may read arrivals before the steps that caused them are known again, and
 * books them as surplus. Once a step knows its transaction or its proof, this moves the money to the account that the
 * step names.
 */
export async function reclaimSurplus(parts: CreditParts, chain: ChainId): Promise<void> {
  const { db, logger } = parts;
  const { rows } = await db.query<Found>(
    `WITH expected AS (
       SELECT e.*, s.hash, s.hashes FROM chain_step_arrivals e JOIN chain_steps s ON s.id = e.step_id
        WHERE e.chain = $1 AND e.arrived_at IS NULL AND e.ended_at IS NULL
     ), told AS (
       SELECT e.step_id, e.asset, e.address, e.account_id, p.deposit_id
         FROM expected e JOIN surplus_proofs p ON p.chain = e.chain AND p.proof = e.proof
         JOIN deposits d ON d.id = p.deposit_id AND (e.atomic IS NULL OR e.atomic = d.atomic)
       UNION
       SELECT e.step_id, e.asset, e.address, e.account_id, d.id
         FROM expected e
        CROSS JOIN LATERAL (
          SELECT e.hash WHERE e.hash IS NOT NULL UNION SELECT unnest(e.hashes)
          UNION SELECT a.hash FROM key_transaction_attempts a WHERE a.transaction_id = e.step_id) h (hash)
         JOIN deposits d ON d.chain = e.chain AND d.tx_hash = h.hash
        WHERE e.known_by = 'transaction'
     )
     SELECT t.deposit_id, t.step_id, t.asset, t.account_id, d.atomic FROM told t JOIN deposits d ON d.id = t.deposit_id
      WHERE d.asset = t.asset AND lower(d.address) = t.address
        AND d.account_id IS NULL AND d.step_id IS NULL AND d.claim_id IS NULL
        AND NOT EXISTS (SELECT FROM deposit_reversals r WHERE r.deposit_id = d.id)
      ORDER BY t.deposit_id`,
    [chain],
  );
  for (const found of rows) {
    const isBack = await db.transaction((tx) => reclaim(tx, parts, chain, found));
    const { depositId: deposit, stepId: step } = found;
    if (isBack) logger.warn({ chain, deposit, step }, 'surplus was matched with a step and moved to its account');
    else logger.error({ chain, deposit, step }, 'surplus was matched with a step, but the house no longer has it');
  }
}

/** Posting, row and the step's arrival are one commit. False when the house no longer has the money. */
async function reclaim(
  tx: Transaction,
  { ledger }: CreditParts,
  chain: ChainId,
  { depositId: id, stepId, asset, atomic, accountId }: Found,
): Promise<boolean> {
  const { rows } = await tx.query(
    'SELECT FROM deposits WHERE id = $1 AND account_id IS NULL AND step_id IS NULL AND claim_id IS NULL FOR UPDATE',
    [id],
  );
  if (rows.length === 0) return true;
  for (const keeper of keepers) {
    const [posted] = await ledger.postWithin(tx, [
      {
        type: 'surplus_reclaimed',
        amount: amountOf(asset, atomic),
        entries: [
          { account: houseAccount(keeper, asset, chain), atomic: -atomic },
          { account: Number(accountId) as AccountId, atomic },
        ],
        reference: `reclaim:${id}`,
        details: { depositId: id, chain },
      },
    ]);
    if (posted?.outcome !== 'posted') continue;
    await tx.query('UPDATE deposits SET step_id = $2, reclaimed_at = clock_timestamp() WHERE id = $1', [id, stepId]);
    await tx.query('DELETE FROM surplus_proofs WHERE deposit_id = $1', [id]);
    await noteArrival(tx, stepId, { chain, asset });
    return true;
  }
  return false;
}
