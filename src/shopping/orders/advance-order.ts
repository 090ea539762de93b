import { noCheckpoint } from '../../kernel/sagas/checkpoint.ts';
import { handleSaga, type SagaHandler, type SagaStep } from '../../kernel/sagas/run-saga.ts';
import { createTurns } from '../../kernel/sagas/turns.ts';
import { wakeSaga } from '../../kernel/sagas/wake-saga.ts';
import { KeyFrozen, requireUnfrozenKey } from '../../policies/frozen.ts';
import type { RefusalKind, ShopAnswer } from './checkout.ts';
import { findOrder, type Order, type OrderParts } from './order.ts';
import { shopOf } from './order-webhook.ts';
import { orderSaga } from './saga.ts';
import {
  cancelledByBuyer,
  captureOrder,
  type Ending,
  notRedeemed,
  releaseOrder,
  stoppedByFreeze,
} from './settle-order.ts';

/** A quarter of the lane's slots. */
const turnsPerShop = 4;

export function orderHandler(parts: OrderParts): SagaHandler {
  const { db, clock } = parts;
  const turns = createTurns({
    most: turnsPerShop,
    // A saga that is not woken looks again by itself.
    wake: (id) => wakeSaga(db, { saga: orderSaga.name, id, lane: 'shops' }).catch(() => undefined),
  });
  return handleSaga(orderSaga, (id) => findOrder(db, id), {
    placed: async (order) =>
      (await turns.take({ of: order.domain, id: order.id }, () => settlePlaced(parts, order))) ??
      waitFor(order, clock.now(), 'its turn: the shop is being asked about other orders'),
  });
}

/**
 * Asks the shop to accept the order, and follows its answer. If it may have been asked before, its state is read first, and the request
 * is repeated, under the same key, only if the shop has not accepted it. After the deadline, or when the buyer has cancelled, the shop is
 * asked to cancel instead.
 */
async function settlePlaced(parts: OrderParts, order: Order): Promise<SagaStep> {
  const { db, clock, checkpoint = noCheckpoint } = parts;
  const shop = shopOf(parts, order);
  const isOver = clock.now() >= order.expiresAt.getTime();
  const isWanted = order.cancelRequestedAt === null;
  const mayAsk = !isOver && isWanted;
  // A shop that gets orders by webhook cannot be asked without sending the order; it says whether it has it when asked to cancel.
  const mayLook = order.mayHaveBeenAsked && (mayAsk || order.channel.kind === 'ucp');
  let answer: ShopAnswer = mayLook ? await shop.look() : { state: 'open' };
  if (answer.state === 'open' && mayAsk) {
    // It may have been decided or cancelled meanwhile: then the shop is not asked to take it.
    const marked = await markAsked(db, order);
    if (marked === 'frozen') return takeBack(parts, order, stoppedByFreeze);
    if (marked === 'over') return 'go_on';
    answer = await shop.ask();
  }
  checkpoint('order.answered');
  switch (answer.state) {
    case 'accepted':
      if ((await captureOrder(parts, order, answer, 'of the shop')) === 'not_redeemed') {
        // It may still redeem until its deadline.
        if (isOver) return takeBack(parts, order, notRedeemed);
        return waitFor(order, clock.now(), 'the shop to redeem its credential');
      }
      checkpoint('order.completed');
      return 'rest';
    case 'needs_buyer':
      return handOver(parts, order, answer.continueUrl);
    case 'cancelled':
      await releaseOrder(parts, order, failed('refused', 'The shop cancelled the order.'), 'the shop said so');
      return 'rest';
    case 'refused':
      if (order.channel.kind === 'webhook') {
        await releaseOrder(parts, order, failed(answer.why, answer.reason), 'the shop said so');
        return 'rest';
      }
      return takeBack(parts, order, failed(answer.why, answer.reason));
    case 'gone':
      return takeBack(parts, order, failed('refused', 'The shop no longer knows the order.'));
    case 'open':
    case 'in_progress':
    case 'unknown': {
      if (!isWanted) return takeBack(parts, order, cancelledByBuyer);
      const late = failed('no_answer', 'The shop did not accept the order in time.');
      return isOver ? takeBack(parts, order, late) : waitFor(order, clock.now(), describe(answer));
    }
  }
}

/**
 * From then on the shop may have the order. `over` when it is decided or cancelled, `frozen` when its key was frozen before the shop
 * was asked for the first time.
 */
async function markAsked(db: OrderParts['db'], { id, keyId }: Order): Promise<'marked' | 'over' | 'frozen'> {
  const marking = db.transaction(async (tx) => {
    const { rows } = await tx.query<{ isFirst: boolean }>(
      `UPDATE orders o SET asked_at = coalesce(o.asked_at, clock_timestamp())
         FROM (SELECT id, asked_at FROM orders WHERE id = $1 FOR UPDATE) earlier
        WHERE o.id = earlier.id AND o.status = 'placed' AND o.cancel_requested_at IS NULL
        RETURNING earlier.asked_at IS NULL AND o.restored_at IS NULL AS is_first`,
      [id],
    );
    const [marked] = rows;
    if (marked?.isFirst === true) await requireUnfrozenKey(tx, keyId);
    return marked === undefined ? 'over' : 'marked';
  });
  return marking.catch((error: unknown) => {
    if (error instanceof KeyFrozen) return 'frozen' as const;
    throw error;
  });
}

/**
 * A shop that has redeemed its credential knows that the money is held for it, and may continue once the buyer has come. So it must
 * cancel the order before the buyer is refunded.
 */
async function handOver(parts: OrderParts, order: Order, continueUrl: string): Promise<SagaStep> {
  const ending = { status: 'needs_buyer', continueUrl } as const;
  const came = await releaseOrder(parts, order, ending, 'unless it may have it');
  if (came !== 'with_the_shop') return 'rest';
  return takeBack(
    parts,
    order,
    failed('refused', 'The shop required the buyer to complete the order, and then cancelled it.'),
  );
}

function failed(why: RefusalKind | 'no_answer', reason: string): Extract<Ending, { status: 'failed' }> {
  return { status: 'failed', code: why, reason };
}

/**
 * A shop that has not redeemed its credential cannot have accepted the order. If it has redeemed it, the shop itself must cancel,
 * because another request of ours may still reach it. It has until the last deadline to do so.
 */
async function takeBack(parts: OrderParts, order: Order, ending: Ending): Promise<SagaStep> {
  const shop = shopOf(parts, order);
  const came = await releaseOrder(parts, order, ending, 'unless it may have it');
  // Another process has decided, perhaps that the shop is paid: then there is nothing to cancel.
  if (came === 'decided_before') return 'rest';
  if (came === 'released') {
    // A courtesy, so that the shop can release its stock. The outcome does not depend on it.
    await shop.cancel().catch(() => undefined);
    return 'rest';
  }
  const answer = await shop.cancel();
  if (answer.state === 'accepted') {
    await captureOrder(parts, order, answer, 'of the shop');
    return 'rest';
  }
  if (answer.state === 'cancelled' || (order.channel.kind === 'webhook' && answer.state === 'refused')) {
    await releaseOrder(parts, order, ending, 'the shop said so');
    return 'rest';
  }
  if ((await releaseOrder(parts, order, ending, 'after the last deadline')) !== 'with_the_shop') return 'rest';
  return { ...waitFor(order, parts.clock.now(), 'the shop to say whether it has the order'), isTrouble: true };
}

function describe(answer: ShopAnswer): string {
  return answer.state === 'unknown' ? `the shop’s answer: ${answer.why}` : 'the shop to take the order';
}

const soonestMs = 500;
const latestMs = 60_000;

/** The longer the order has waited, the longer the pause. */
function waitFor({ createdAt }: Order, now: number, waitsFor: string) {
  const age = now - createdAt.getTime();
  return { lookAgainInMs: Math.min(latestMs, Math.max(soonestMs, Math.round(age / 5))), waitsFor };
}
