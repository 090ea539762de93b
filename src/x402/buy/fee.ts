import { onlyRow, type Queryable, type Transaction } from '../../kernel/db/database.ts';
import { houseAccount, userAccount } from '../../ledger/account-id.ts';
import { houseBalance } from '../../ledger/balances.ts';
import type { Posting } from '../../ledger/posting.ts';
import { type Amount, amountOf } from '../../money/amount.ts';
import { homeChain } from '../../money/catalogue.ts';
import { withdrawalFee } from '../../money/fees.ts';
import type { Purchase } from './purchase.ts';

/**
 * Call it in the transaction that returns the purchase, under the account's sending lock. Later purchases were charged
 * as if this one were paid; this returns the excess. The caller posts the result. `own` is the returned part of the
 * purchase's own fee, `kept` the part kept because other purchases owe it.
 */
export async function returnFees(tx: Transaction, purchase: Purchase) {
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
    others: givesBack.size === 0 ? [] : await postingsOf(tx, purchase, givesBack),
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
  const { rows } = await tx.query<Charge>(
    `SELECT id, ${microseconds('at')} AS at, amount, kept FROM (${chargesSince}) charges ORDER BY charges.at, id`,
    [accountId, from.twoDaysBefore],
  );
  return recalculateFees(rows, from.dayBefore);
}

const microseconds = (column: string) => `(extract(epoch FROM ${column}) * 1000000)::bigint`;

/**
 * Fees of open purchases are in transit, fees of paid ones are earned. If the operator has already paid out earned
 * fees, the house's equity covers the rest, so that a return never waits.
 */
async function postingsOf(
  tx: Transaction,
  { id, accountId, fee: { asset } }: Purchase,
  givesBack: ReadonlyMap<string, bigint>,
): Promise<Posting[]> {
  // Locked, so that none of them is settled before the commit.
  const { rows } = await tx.query<{ id: string; isPaid: boolean; taken: bigint }>(
    `SELECT id, status = 'paid' OR status = 'returned' AS is_paid, amount + fee AS taken
       FROM purchases WHERE id = ANY ($1) ORDER BY id FOR UPDATE`,
    [[...givesBack.keys()]],
  );
  let there: bigint = (await houseBalance(tx, 'fees', asset, homeChain)).atomic;
  return rows.map(({ id: other, isPaid, taken }) => {
    const atomic = givesBack.get(other) ?? 0n;
    const fromFees = isPaid ? least(atomic, there) : 0n;
    there -= fromFees;
    return {
      type: 'purchase_fee_returned',
      amount: amountOf(asset, atomic),
      entries: [
        { account: houseAccount('nano_in_transit', asset), atomic: isPaid ? 0n : -atomic },
        { account: houseAccount('fees', asset), atomic: -fromFees },
        { account: houseAccount('equity', asset), atomic: isPaid ? fromFees - atomic : 0n },
        { account: userAccount(accountId, asset), atomic },
      ],
      reference: `purchase:${id}:fees:${other}`,
      description: 'Fee of another purchase of the same 24 hours',
      details: { purchaseId: id, feeOf: other },
      returns: { of: other, part: atomic, whole: taken },
      recipientId: accountId,
    };
  });
}

/** The amount per 24 hours without a fee, in atomic units of USDC. Calls cost cents. */
export const freeWithinDay = 10_000_000n;

/** SQL: the part of the fee of purchase `p` that was not returned. */
const keptSql = `CASE WHEN p.fee = 0 THEN 0 ELSE p.fee - coalesce(
    (SELECT sum(r.atomic) FROM purchase_fees_returned r WHERE r.purchase_id = p.id), 0) END`;

/** SQL: the charges of account $1 since $2. A returned purchase counts with amount 0 at the time of its return. */
const chargesSince = `
  SELECT p.id, ${keptSql} AS kept,
         CASE p.status WHEN 'returned' THEN 0 ELSE p.amount END AS amount,
         CASE p.status WHEN 'returned' THEN p.finished_at ELSE p.created_at END AS at
    FROM purchases p
   WHERE p.account_id = $1 AND (p.created_at > $2 AND p.status <> 'returned' OR p.finished_at > $2 AND p.status = 'returned')`;

export interface Charged {
  readonly fee: Amount;
  /** With microseconds, as PostgreSQL prints it. The purchase is opened at this time. */
  readonly openedAt: string;
}

/**
 * An account can be its own seller, so payments to sellers above a daily free amount cost the same fee as a withdrawal.
 * The fee covers everything above the free amount within 24 hours, less the fees already charged, so that splitting a
 * payment saves nothing. Callers hold the account's sending lock, so that each payment sees the ones before it.
 */
export async function feeOf(tx: Queryable, accountId: bigint, price: Amount): Promise<Charged> {
  const { now, dayBefore } = onlyRow(
    await tx.query<{ now: string; dayBefore: string }>(
      `SELECT now::text, (now - interval '24 hours')::text AS day_before FROM clock_timestamp() AS now`,
    ),
  );
  const { sent, charged } = onlyRow(
    await tx.query<{ sent: bigint; charged: bigint }>(
      `SELECT coalesce(sum(amount), 0) AS sent, coalesce(sum(kept), 0) AS charged FROM (${chargesSince}) charges`,
      [accountId, dayBefore],
    ),
  );
  return { fee: feeAfter(price, { sent, charged }), openedAt: now };
}

/** The part of the fee that was not returned. The caller holds the row lock. */
export async function keptFee(db: Queryable, { id, fee }: { id: string; fee: Amount }): Promise<Amount> {
  const { kept } = onlyRow(
    await db.query<{ kept: bigint }>(`SELECT ${keptSql} AS kept FROM purchases p WHERE p.id = $1`, [id]),
  );
  return amountOf(fee.asset, kept);
}

export function feeAfter(
  price: Amount,
  { sent, charged }: { readonly sent: bigint; readonly charged: bigint },
): Amount {
  const above = sent + price.atomic - freeWithinDay;
  const due = above > 0n ? withdrawalFee(amountOf(price.asset, above)).atomic - charged : 0n;
  return amountOf(price.asset, due > 0n ? due : 0n);
}

export interface Charge {
  readonly id: string;
  /** In microseconds since the epoch. */
  readonly at: bigint;
  /** 0 for a returned purchase. */
  readonly amount: bigint;
  /** The part of the fee that was not returned. */
  readonly kept: bigint;
}

const day = 24n * 3_600n * 1_000_000n;

/**
 * Recalculates the fees after a purchase was returned. Every charge after `from` is recalculated for the 24 hours
 * before it, and keeps no more than it would cost now; together they keep what they would cost. Expects the charges of
 * the 24 hours before `from` too, oldest first. Returns what each charge gives back, if anything.
 */
export function recalculateFees(charges: readonly Charge[], from: bigint): Map<string, bigint> {
  const isDecided = ({ at }: Charge) => at <= from;
  const costs = replay(charges, (charge, due) => {
    if (isDecided(charge)) return charge.kept;
    return charge.amount === 0n ? 0n : due;
  });
  const keeps = replay(charges, (charge, due) => (isDecided(charge) ? charge.kept : least(charge.kept, due)));
  // Fees are rounded and are never raised. Where one would now cost more, the difference is kept from the others'
  // returns, newest first.
  let missing = sumOf(costs) - sumOf(keeps);
  const givesBack = new Map<string, bigint>();
  for (const [index, { id, kept }] of [...charges.entries()].reverse()) {
    const gives = kept - (keeps[index] ?? 0n);
    const keepsMore = missing > 0n ? least(gives, missing) : 0n;
    missing -= keepsMore;
    if (gives > keepsMore) givesBack.set(id, gives - keepsMore);
  }
  return givesBack;
}

/** Replays the charges in order; `decide` gets the fee due for the 24 hours before each. */
function replay(charges: readonly Charge[], decide: (charge: Charge, due: bigint) => bigint): bigint[] {
  const decided: bigint[] = [];
  let [first, sent, charged] = [0, 0n, 0n];
  for (const charge of charges) {
    for (let old = charges[first]; old !== undefined && old.at <= charge.at - day; old = charges[++first]) {
      sent -= old.amount;
      charged -= decided[first] ?? 0n;
    }
    const one = decide(charge, feeAfter(amountOf('USDC', charge.amount), { sent, charged }).atomic);
    decided.push(one);
    sent += charge.amount;
    charged += one;
  }
  return decided;
}

const least = (one: bigint, other: bigint) => (one < other ? one : other);
const sumOf = (numbers: readonly bigint[]) => numbers.reduce((sum, one) => sum + one, 0n);
