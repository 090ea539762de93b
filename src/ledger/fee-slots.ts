import { randomInt } from 'node:crypto';
import type { Queryable } from '../kernel/db/database.ts';
import { amountOf } from '../money/amount.ts';
import { type AccountId, assetOfAccount, inSlot, isFeeAccount, slotCount, slotsOf } from './account-id.ts';
import type { Entry, Posting } from './posting.ts';

/**
 * The slot of the house's account for fees that a batch credits. By chance, so that the batches of any number of
 * instances rarely meet.
 */
export function anySlot(): number {
  return randomInt(slotCount);
}

/**
 * Postings that move the fees of all slots into the account itself, to be posted before those that take from it. None
 * when nothing is taken. Nothing is locked yet: fees that others gather meanwhile are refused here, and are there.
 */
export async function gatherFees(db: Queryable, postings: readonly Posting[]): Promise<Posting[]> {
  const accounts = [
    ...new Set(postings.flatMap(({ entries }) => entries.filter(isTaken).map(({ account }) => account))),
  ];
  if (accounts.length === 0) return [];
  const { rows } = await db.query<{ id: bigint; balance: bigint }>(
    'SELECT id, balance FROM ledger.accounts WHERE id = ANY ($1) AND balance > 0',
    [accounts.flatMap((account) => slotsOf(account).slice(1))],
  );
  return rows.map(({ id, balance }) => {
    const slot = Number(id) as AccountId;
    return {
      type: 'fees_gathered',
      amount: amountOf(assetOfAccount(slot), balance),
      entries: [
        { account: slot, atomic: -balance },
        { account: inSlot(slot, 0), atomic: balance },
      ],
    };
  });
}

export function takesFees({ entries }: Posting): boolean {
  return entries.some(isTaken);
}

function isTaken({ account, atomic }: Entry): boolean {
  return atomic < 0n && isFeeAccount(account);
}
