import type { Feature } from '../../kernel/feature.ts';
import { pictureOf } from '../../kernel/sagas/public-status.ts';
import { handleSaga, type SagaHandler } from '../../kernel/sagas/run-saga.ts';
import type { EventType } from '../../ledger/event-types.ts';
import { listed } from '../../money/in-words.ts';
import { returnToTreasury } from './fail-swap.ts';
import { fillSwapper, prepareSwapper } from './fill-swapper.ts';
import { makeSwap } from './make-swap.ts';
import type { SwapParts } from './parts.ts';
import { type SwapRouteParts, swapRoutes } from './routes.ts';
import { swapSaga } from './saga.ts';
import { findSwap } from './swap.ts';
import { swapTokens } from './tokens.ts';

/** `amount` and `currency` are the credit: the bought asset, or the refund. */
const swapEvents: readonly EventType[] = [{ name: 'swap.completed' }, { name: 'swap.failed' }];

export const swaps: Feature<{ serving: SwapRouteParts; working: SwapParts }> = {
  name: 'swaps',
  chapters: [
    {
      name: 'Swaps',
      description: `Swap ${listed(swapTokens)} for one another through Uniswap on Polygon.`,
      states: pictureOf(swapSaga, 'The states of a swap'),
    },
  ],
  events: swapEvents,
  sagas: [{ saga: swapSaga, handler: swapHandler }],
  routes: swapRoutes,
};

export function swapHandler(parts: SwapParts): SagaHandler {
  return handleSaga(swapSaga, (id) => findSwap(parts.db, id), {
    queued: (swap) => fillSwapper(parts, swap),
    preparing: (swap) => prepareSwapper(parts, swap),
    swapping: (swap) => makeSwap(parts, swap),
    returning: (swap) => returnToTreasury(parts, swap),
  });
}
