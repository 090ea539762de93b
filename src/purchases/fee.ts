import type { Transaction } from '../db/database.ts';
import { onlyRow } from '../db/database.ts';
import { type Amount, amountOf } from '../money/amount.ts';
import { withdrawalFee } from '../money/fees.ts';

/** So much an account pays to sellers within 24 hours without a fee, in atomic units of USDC: calls cost cents. */
export const freeWithinDay = 10_000_000n;

/**
 * An account can be its own seller: beyond what calls cost, a payment to a seller is a withdrawal by another name and costs as much.
 * The fee is that of everything above the free part of a day, less what was charged within it, so that many small payments come to
 * the same as a large one. Asked under the account's lock for what leaves, so that each payment sees those before it.
 */
export async function feeOf(tx: Transaction, accountId: bigint, price: Amount): Promise<Amount> {
  const { sent, charged } = onlyRow(
    await tx.query<{ sent: string; charged: string }>(
      `SELECT coalesce(sum(amount), 0) AS sent, coalesce(sum(fee), 0) AS charged FROM purchases
        WHERE account_id = $1 AND created_at > now() - interval '24 hours' AND status <> 'returned'`,
      [accountId],
    ),
  );
  return feeAfter(price, { sent: BigInt(sent), charged: BigInt(charged) });
}

export function feeAfter(
  price: Amount,
  { sent, charged }: { readonly sent: bigint; readonly charged: bigint },
): Amount {
  const above = sent + price.atomic - freeWithinDay;
  const due = above > 0n ? withdrawalFee(amountOf(price.asset, above)).atomic - charged : 0n;
  return amountOf(price.asset, due > 0n ? due : 0n);
}
