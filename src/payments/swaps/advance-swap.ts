import { handleSaga, type SagaHandler } from '../../kernel/sagas/run-saga.ts';
import { fillSwapper, prepareSwapper } from './fill-swapper.ts';
import { returnToTreasury } from './give-back.ts';
import { makeSwap } from './make-swap.ts';
import type { SwapParts } from './parts.ts';
import { swapSaga } from './saga.ts';
import { findSwap } from './swap.ts';

export function swapHandler(parts: SwapParts): SagaHandler {
  return handleSaga(swapSaga, (id) => findSwap(parts.db, id), {
    queued: (swap) => fillSwapper(parts, swap),
    preparing: (swap) => prepareSwapper(parts, swap),
    swapping: (swap) => makeSwap(parts, swap),
    returning: (swap) => returnToTreasury(parts, swap),
  });
}
