import type { Transaction } from '../../kernel/db/database.ts';
import { houseAccount, userAccount } from '../../ledger/account-id.ts';
import { houseBalance } from '../../ledger/balances.ts';
import type { Posting } from '../../ledger/posting.ts';
import { type Amount, amountOf } from '../../money/amount.ts';
import { homeChain } from '../../money/catalogue.ts';
import { type Charge, chargesSince, decideAnew, keptFee } from './fee.ts';
import type { Purchase } from './purchase.ts';

export interface FeesReturned {
  /** The returned part of the purchase's own fee, and the part kept because other purchases owe it. */
  readonly own: Amount;
  readonly kept: Amount;
  readonly others: readonly Posting[];
}

/**
 * Call it in the transaction that returns the purchase, under the account's sending lock. Later purchases were charged
 * as if this one were paid; this returns the excess. The caller posts the result.
 */
export async function returnFees(tx: Transaction, purchase: Purchase): Promise<FeesReturned> {
  const { id, fee } = purchase;
  const before = await keptFee(tx, purchase);
  const givesBack = await decideWithout(tx, purchase);
  await tx.query(
    `INSERT INTO purchase_fees_returned (purchase_id, because_of, atomic)
     SELECT gives.id, $1, gives.atomic FROM unnest($2::text[], $3::numeric[]) AS gives (id, atomic)`,
    [id, [...givesBack.keys()], [...givesBack.values()].map(String)],
  );
  const own = givesBack.get(id) ?? 0n;
  givesBack.delete(id);
  return {
    own: amountOf(fee.asset, own),
    kept: amountOf(fee.asset, before.atomic - own),
    others: givesBack.size === 0 ? [] : [await postingOf(tx, purchase, givesBack)],
  };
}

async function decideWithout(tx: Transaction, { id, accountId }: Purchase): Promise<Map<string, bigint>> {
  // Most accounts never pay a fee, so their purchases need not be read.
  const { rows: opened } = await tx.query<{ dayBefore: bigint; twoDaysBefore: string }>(
    `SELECT ${microseconds("returned.created_at - interval '24 hours'")} AS day_before,
            (returned.created_at - interval '48 hours')::text AS two_days_before
       FROM purchases returned
      WHERE returned.id = $1 AND EXISTS (SELECT FROM purchases p WHERE p.account_id = returned.account_id AND p.fee > 0
        AND coalesce(p.finished_at, p.created_at) > returned.created_at - interval '24 hours')`,
    [id],
  );
  const [from] = opened;
  if (from === undefined) return new Map();
  const { rows } = await tx.query<{ id: string; at: bigint; amount: bigint; kept: bigint }>(
    `SELECT id, ${microseconds('at')} AS at, amount, kept FROM (${chargesSince}) charges ORDER BY charges.at, id`,
    [accountId, from.twoDaysBefore],
  );
  const charges = rows.map((row): Charge => ({ id: row.id, at: row.at, amount: row.amount, kept: row.kept }));
  return decideAnew(charges, from.dayBefore);
}

const microseconds = (column: string) => `(extract(epoch FROM ${column}) * 1000000)::bigint`;

/**
 * Fees of open purchases are in transit, fees of paid ones are earned. If the operator has already paid out earned
 * fees, the house's equity covers the rest, so that a return never waits.
 */
async function postingOf(
  tx: Transaction,
  { id, accountId, fee: { asset } }: Purchase,
  givesBack: ReadonlyMap<string, bigint>,
): Promise<Posting> {
  // Locked, so that none of them is settled before the commit.
  const { rows } = await tx.query<{ id: string; isPaid: boolean }>(
    `SELECT id, status = 'paid' OR status = 'returned' AS is_paid FROM purchases WHERE id = ANY ($1) ORDER BY id FOR UPDATE`,
    [[...givesBack.keys()]],
  );
  const sumOf = (isPaid: boolean) =>
    rows.reduce((sum, row) => (row.isPaid === isPaid ? sum + (givesBack.get(row.id) ?? 0n) : sum), 0n);
  const [inTransit, earned] = [sumOf(false), sumOf(true)];
  const { atomic: there } = await houseBalance(tx, 'fees', asset, homeChain);
  const fromFees = earned < there ? earned : there;
  return {
    type: 'purchase_fee_returned',
    amount: amountOf(asset, inTransit + earned),
    entries: [
      { account: houseAccount('nano_in_transit', asset), atomic: -inTransit },
      { account: houseAccount('fees', asset), atomic: -fromFees },
      { account: houseAccount('equity', asset), atomic: fromFees - earned },
      { account: userAccount(accountId, asset), atomic: inTransit + earned },
    ],
    reference: `purchase:${id}:fees`,
    description: 'Fees of other purchases of the same 24 hours',
    details: { purchaseId: id },
    recipientId: accountId,
  };
}
