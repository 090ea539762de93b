import type { Transaction } from '../kernel/db/database.ts';
import { dueAccount, userAccount } from './account-id.ts';
import { type Claimant, type Due, listDues } from './claimants.ts';
import type { Ledger } from './ledger.ts';
import type { Posted } from './posting.ts';

export interface Redemption {
  readonly claimant: Claimant;
  readonly accountId: bigint;
  /** Recorded if the account subscribed to it. */
  readonly recipientEvent?: string;
}

export type Redeemed =
  /** One posting per chain and asset; none when nothing was owed. */
  | { readonly outcome: 'redeemed'; readonly postings: readonly Posted[] }
  /** The claimant already belongs to another account. Nothing was moved. */
  | { readonly outcome: 'redeemed_by_another' };

/**
 * Moves everything owed to a claimant into the account that proved to be it, in the caller's commit, as its last
 * statement. The claimant then belongs to that account permanently: another account is refused, and the same one may
 * redeem again later. The calling feature verifies the proof.
 */
export async function redeemClaimant(tx: Transaction, ledger: Ledger, redemption: Redemption): Promise<Redeemed> {
  const { claimant, accountId } = redemption;
  const { rowCount } = await tx.query(
    `UPDATE claimants SET account_id = $2, redeemed_at = coalesce(redeemed_at, now())
      WHERE id = $1 AND (account_id IS NULL OR account_id = $2)`,
    [claimant.id, accountId],
  );
  if (rowCount === 0) return { outcome: 'redeemed_by_another' };
  // The row lock keeps out concurrent redemptions; what is credited from here on waits for the next one.
  const dues = await listDues(tx, claimant.id);
  if (dues.length === 0) return { outcome: 'redeemed', postings: [] };
  const outcomes = await ledger.postWithin(
    tx,
    dues.map((due) => toPosting(due, redemption)),
  );
  const postings = outcomes.map((outcome) => {
    if (outcome.outcome !== 'posted')
      throw new Error(`the claim of ${claimant.name} was not posted: ${outcome.outcome}`);
    return outcome.posting;
  });
  return { outcome: 'redeemed', postings };
}

function toPosting({ chain, amount }: Due, { claimant, accountId, recipientEvent }: Redemption) {
  const { asset, atomic } = amount;
  return {
    type: 'claim',
    amount,
    recipientId: accountId,
    details: { claimant: { kind: claimant.kind, name: claimant.name }, chain },
    entries: [
      { account: dueAccount(claimant.id, asset, chain), atomic: -atomic },
      { account: userAccount(accountId, asset, chain), atomic },
    ],
    ...(recipientEvent !== undefined && { recipientEvent }),
  };
}
