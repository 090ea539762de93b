import type { Feature } from '../../kernel/feature.ts';
import { pictureOf } from '../../kernel/sagas/public-status.ts';
import { listed } from '../../money/in-words.ts';
import { swapHandler } from './advance-swap.ts';
import { swapEvents } from './events.ts';
import type { SwapParts } from './parts.ts';
import { type SwapRouteParts, swapRoutes } from './routes.ts';
import { swapSaga } from './saga.ts';
import { swapTokens } from './tokens.ts';

/** A swap that is not done after 20 minutes gives the amount and its fee back. */
const validSeconds = 1_200;

export const swaps: Feature<{
  serving: Omit<SwapRouteParts, 'validSeconds'>;
  working: SwapParts;
}> = {
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
  routes: (parts) => swapRoutes({ ...parts, validSeconds }),
};
