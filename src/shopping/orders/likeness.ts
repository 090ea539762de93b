import { createHash } from 'node:crypto';
import { normalizeAddress, type ShippingAddress } from '../../accounts/addresses/shipping-address.ts';
import type { Queryable, Transaction } from '../../kernel/db/database.ts';
import { lockUntilCommit } from '../../kernel/db/locks.ts';
import { statusUrlOf } from './answer.ts';
import { orderErrors } from './errors.ts';
import { type OrderRow, selectOrder, shownStatus, toOrder } from './order.ts';

/** How long after completion an equal purchase counts as a duplicate. While the order is open, it always does. */
const alikeSeconds = 60;

/** A hash of what makes two purchases probable duplicates. */
export function likenessOf(
  domain: string,
  { itemId, quantity }: { readonly itemId: string; readonly quantity: number },
  address: ShippingAddress,
): Buffer {
  // Keeps the hash of orders from before quantities existed.
  const item = quantity === 1 ? [itemId] : [itemId, quantity];
  return createHash('sha256')
    .update(JSON.stringify([domain, ...item, normalizeAddress(address)]))
    .digest();
}

export interface Repetition {
  readonly accountId: bigint;
  readonly likeness: Buffer;
  /** The buyer states that the purchase does not repeat this order. */
  readonly notDuplicateOf: string | undefined;
  readonly publicUrl: string;
}

/**
 * Agents resend a purchase under fresh idempotency keys, often because the shop was slow. An order that failed or needs the buyer
 * can be retried at once.
 */
export async function refuseRepetition(
  db: Queryable,
  { accountId, likeness, notDuplicateOf, publicUrl }: Repetition,
): Promise<void> {
  const { rows } = await db.query<OrderRow>(
    `${selectOrder} WHERE o.account_id = $1 AND o.likeness = $2
        AND (o.status = 'placed' OR (o.status = 'completed'
          AND o.finished_at > clock_timestamp() - make_interval(secs => ${alikeSeconds})))
      ORDER BY o.created_at DESC, o.id DESC LIMIT 1`,
    [accountId, likeness],
  );
  const [row] = rows;
  if (row === undefined || row.id === notDuplicateOf) return;
  throw orderErrors.possible_duplicate(undefined, {
    members: { orderId: row.id, orderStatus: shownStatus(toOrder(row)), statusUrl: statusUrlOf(row.id, publicUrl) },
  });
}

/** Serializes the purchases of one account, so that the duplicate check sees concurrent ones. */
export async function lockPurchases(tx: Transaction, accountId: bigint): Promise<void> {
  await lockUntilCommit(tx, { kind: 'purchases', of: String(accountId) });
}
