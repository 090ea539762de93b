import { type AccountId, houseAccount, userAccount } from '../../ledger/account-id.ts';
import type { Authority, Posting, PostingId } from '../../ledger/posting.ts';
import { type Amount, subtract } from '../../money/amount.ts';
import { heldFor, type Order } from './order.ts';

type OrderMoney = Pick<Order, 'id' | 'accountId' | 'amount' | 'fee' | 'asset' | 'domain' | 'product'>;

const nameOf = ({ domain, product }: OrderMoney) => `${product.title} at ${domain}`;

interface Hold {
  readonly transferId: PostingId;
  readonly keyId: string;
  readonly authority: Authority;
}

/** Gives back the share that this part is of all that was held. Nothing, if it was not taken from any budget. */
const returning = (order: OrderMoney, { atomic: part }: Amount): Pick<Posting, 'returns'> =>
  part > 0n ? { returns: { of: order.id, part, whole: heldFor(order).atomic } } : {};

/** Sets the money aside. */
export function held(order: OrderMoney, { transferId, keyId, authority }: Hold): Posting {
  const total = heldFor(order);
  return {
    id: transferId,
    type: 'order',
    amount: total,
    fee: order.fee,
    entries: [
      { account: userAccount(order.accountId, order.asset), atomic: -total.atomic },
      { account: houseAccount('orders_in_transit', order.asset), atomic: total.atomic },
    ],
    reference: `order:${order.id}`,
    description: nameOf(order),
    details: { orderId: order.id },
    senderId: order.accountId,
    keyId,
    authority,
    spentOn: order.id,
  };
}

export interface Taken {
  /** The shop's ledger account. */
  readonly seller: AccountId;
  readonly sellerId: bigint | undefined;
  readonly charged: { readonly amount: Amount; readonly fee: Amount };
}

/** Pays the shop and the fee; the buyer gets back what the shop did not charge. */
export function captured(order: OrderMoney, { seller, sellerId, charged }: Taken): Posting {
  const total = heldFor(order);
  const rest = subtract(subtract(total, charged.amount), charged.fee);
  return {
    type: 'order_captured',
    amount: charged.amount,
    entries: [
      { account: houseAccount('orders_in_transit', order.asset), atomic: -total.atomic },
      ...merged([
        { account: seller, atomic: charged.amount.atomic },
        { account: userAccount(order.accountId, order.asset), atomic: rest.atomic },
      ]),
      { account: houseAccount('fees', order.asset), atomic: charged.fee.atomic },
    ],
    reference: `order:${order.id}:captured`,
    ...returning(order, rest),
    description: nameOf(order),
    details: { orderId: order.id },
    ...(sellerId !== undefined && { recipientId: sellerId }),
  };
}

/** A buyer can own the shop, and a posting may name an account only once. */
function merged(entries: readonly { readonly account: AccountId; readonly atomic: bigint }[]) {
  const [first, second] = entries;
  if (first === undefined || second === undefined || first.account !== second.account) return entries;
  return [{ account: first.account, atomic: first.atomic + second.atomic }];
}

/** Returns all the money, including the fee. */
export function released(order: OrderMoney): Posting {
  const total = heldFor(order);
  return {
    type: 'order_released',
    amount: total,
    entries: [
      { account: houseAccount('orders_in_transit', order.asset), atomic: -total.atomic },
      { account: userAccount(order.accountId, order.asset), atomic: total.atomic },
    ],
    reference: `order:${order.id}:released`,
    ...returning(order, total),
    description: nameOf(order),
    details: { orderId: order.id },
    recipientId: order.accountId,
  };
}

export interface Refund {
  readonly id: string;
  readonly transferId: PostingId;
  readonly amount: Amount;
  readonly seller: AccountId;
  readonly sellerId: bigint | undefined;
  readonly keyId: string;
  readonly authority: Authority;
  /** Shown to the buyer. */
  readonly reason: string | undefined;
}

/** Refunds come from the shop's balance, never from the house. */
export function refunded(
  order: OrderMoney,
  { id, transferId, amount, seller, sellerId, keyId, authority, reason }: Refund,
): Posting {
  return {
    id: transferId,
    type: 'order_refund',
    amount,
    entries: [
      { account: seller, atomic: -amount.atomic },
      { account: userAccount(order.accountId, order.asset), atomic: amount.atomic },
    ],
    reference: `order:${order.id}:refund:${id}`,
    ...returning(order, amount),
    description: reason === undefined ? nameOf(order) : `${nameOf(order)}: ${reason}`,
    details: { orderId: order.id, refundId: id },
    ...(sellerId !== undefined && { senderId: sellerId }),
    recipientId: order.accountId,
    keyId,
    authority,
  };
}
