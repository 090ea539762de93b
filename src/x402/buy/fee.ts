import type { Queryable, Transaction } from '../../kernel/db/database.ts';
import { onlyRow } from '../../kernel/db/database.ts';
import { type Amount, amountOf } from '../../money/amount.ts';
import { withdrawalFee } from '../../money/fees.ts';

/** So much an account pays to sellers within 24 hours without a fee, in atomic units of USDC: calls cost cents. */
export const freeWithinDay = 10_000_000n;

/** SQL: what of the fee of the purchase `p` has not come back. */
const keptSql = `CASE WHEN p.fee = 0 THEN 0 ELSE p.fee - coalesce(
    (SELECT sum(r.atomic) FROM purchase_fees_returned r WHERE r.purchase_id = p.id), 0) END`;

/**
 * SQL: what the account $1 was charged from $2 on. A purchase that came back counts with an amount of 0 at the time of its return, when
 * it was decided what of its fee is kept.
 */
export const chargesSince = `
  SELECT p.id, ${keptSql} AS kept,
         CASE p.status WHEN 'returned' THEN 0 ELSE p.amount END AS amount,
         CASE p.status WHEN 'returned' THEN p.finished_at ELSE p.created_at END AS at
    FROM purchases p
   WHERE p.account_id = $1 AND (p.created_at > $2 AND p.status <> 'returned' OR p.finished_at > $2 AND p.status = 'returned')`;

export interface Charged {
  readonly fee: Amount;
  /** When it was decided, to the microsecond as PostgreSQL writes it. The purchase is opened at this time. */
  readonly openedAt: string;
}

/**
 * An account can be its own seller: beyond what calls cost, a payment to a seller is a withdrawal by another name and costs as much.
 * The fee is that of everything above the free part of a day, less what was charged within it, so that many small payments come to
 * the same as a large one. Asked under the account's lock for what leaves, so that each payment sees those before it.
 */
export async function feeOf(tx: Transaction, accountId: bigint, price: Amount): Promise<Charged> {
  const { now, day_before: dayBefore } = onlyRow(
    await tx.query<{ now: string; day_before: string }>(
      `SELECT now::text, (now - interval '24 hours')::text AS day_before FROM clock_timestamp() AS now`,
    ),
  );
  const { sent, charged } = onlyRow(
    await tx.query<{ sent: string; charged: string }>(
      `SELECT coalesce(sum(amount), 0) AS sent, coalesce(sum(kept), 0) AS charged FROM (${chargesSince}) charges`,
      [accountId, dayBefore],
    ),
  );
  return { fee: feeAfter(price, { sent: BigInt(sent), charged: BigInt(charged) }), openedAt: now };
}

/** What of a purchase's fee has not come back. Ask with its row locked, so that nothing more comes back before the commit. */
export async function keptFee(db: Queryable, { id, fee }: { id: string; fee: Amount }): Promise<Amount> {
  const { kept } = onlyRow(
    await db.query<{ kept: string }>(`SELECT ${keptSql} AS kept FROM purchases p WHERE p.id = $1`, [id]),
  );
  return amountOf(fee.asset, BigInt(kept));
}

export function feeAfter(
  price: Amount,
  { sent, charged }: { readonly sent: bigint; readonly charged: bigint },
): Amount {
  const above = sent + price.atomic - freeWithinDay;
  const due = above > 0n ? withdrawalFee(amountOf(price.asset, above)).atomic - charged : 0n;
  return amountOf(price.asset, due > 0n ? due : 0n);
}

/** What an account was charged at one time. */
export interface Charge {
  readonly id: string;
  /** In microseconds since the epoch. */
  readonly at: bigint;
  /** 0 for a purchase that came back. */
  readonly amount: bigint;
  /** What of the fee has not come back. */
  readonly kept: bigint;
}

const day = 24n * 3_600n * 1_000_000n;

/**
 * A purchase has come back. Every charge after `from` is decided anew without it, each for the 24 hours before it, and keeps no more than
 * it would cost now. All together they keep what they would cost. Expects the charges of 24 hours before `from` too, in the order of
 * time. Answers what each gives back, where it is more than nothing.
 */
export function decideAnew(charges: readonly Charge[], from: bigint): Map<string, bigint> {
  const isDecided = ({ at }: Charge) => at <= from;
  const costs = replay(charges, (charge, due) => {
    if (isDecided(charge)) return charge.kept;
    return charge.amount === 0n ? 0n : due;
  });
  const keeps = replay(charges, (charge, due) => (isDecided(charge) ? charge.kept : least(charge.kept, due)));
  // Fees are rounded and cannot be raised: what one would cost more now is kept where it was to come back, newest first.
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

/** What each of them is charged, one after the other, when `decide` is told what is due for the 24 hours before it. */
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
