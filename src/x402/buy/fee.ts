import type { Queryable, Transaction } from '../../kernel/db/database.ts';
import { onlyRow } from '../../kernel/db/database.ts';
import { type Amount, amountOf } from '../../money/amount.ts';
import { withdrawalFee } from '../../money/fees.ts';

/** The amount per 24 hours without a fee, in atomic units of USDC. Calls cost cents. */
export const freeWithinDay = 10_000_000n;

/** SQL: the part of the fee of purchase `p` that was not returned. */
const keptSql = `CASE WHEN p.fee = 0 THEN 0 ELSE p.fee - coalesce(
    (SELECT sum(r.atomic) FROM purchase_fees_returned r WHERE r.purchase_id = p.id), 0) END`;

/** SQL: the charges of account $1 since $2. A returned purchase counts with amount 0 at the time of its return. */
export const chargesSince = `
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
export async function feeOf(tx: Transaction, accountId: bigint, price: Amount): Promise<Charged> {
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
  return { fee: feeAfter(price, { sent: sent, charged: charged }), openedAt: now };
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
export function decideAnew(charges: readonly Charge[], from: bigint): Map<string, bigint> {
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
