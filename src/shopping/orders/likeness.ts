import { createHash } from 'node:crypto';
import { normalizeAddress, type ShippingAddress } from '../../accounts/addresses/shipping-address.ts';
import type { Queryable, Transaction } from '../../kernel/db/database.ts';
import { lockUntilCommit } from '../../kernel/db/locks.ts';
import { statusUrlOf } from './answer.ts';
import { orderErrors } from './errors.ts';
import { type OrderRow, selectOrder, shownStatus, toOrder } from './order.ts';

/** How long after its end the same purchase is taken for a repetition. While it is open, it always is. */
const alikeSeconds = 60;

/** What two purchases have in common that are likely one. */
export function likenessOf(
  domain: string,
  { itemId, quantity }: { readonly itemId: string; readonly quantity: number },
  address: ShippingAddress,
): Buffer {
  // One of something has the likeness that it had before orders knew of quantities.
  const item = quantity === 1 ? [itemId] : [itemId, quantity];
  return createHash('sha256')
    .update(JSON.stringify([domain, ...item, normalizeAddress(address)]))
    .digest();
}

export interface Repetition {
  readonly accountId: bigint;
  readonly likeness: Buffer;
  /** The order that it is not a repetition of, as its buyer says. */
  readonly notDuplicateOf: string | undefined;
  readonly publicUrl: string;
}

/**
 * Agents send a purchase again under fresh keys, often because the shop has been slow. An order that failed, or that the shop handed
 * over to the buyer, may be tried again at once.
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

/** Of two purchases of one account at once, one is looked at after the other is there. */
export async function lockPurchases(tx: Transaction, accountId: bigint): Promise<void> {
  await lockUntilCommit(tx, { kind: 'purchases', of: String(accountId) });
}
