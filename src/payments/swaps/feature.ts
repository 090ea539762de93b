import { z } from 'zod';
import type { Feature } from '../../kernel/feature.ts';
import { pictureOf } from '../../kernel/sagas/public-status.ts';
import { defineSettings } from '../../kernel/settings.ts';
import { listed } from '../../money/in-words.ts';
import { swapHandler } from './advance-swap.ts';
import { swapEvents } from './events.ts';
import type { SwapParts } from './parts.ts';
import { type SwapRouteParts, swapRoutes } from './routes.ts';
import { swapSaga } from './saga.ts';
import { swapTokens } from './tokens.ts';

interface SwapSettings {
  /** The time from acceptance to the deadline. */
  readonly validSeconds: number;
}

export const swaps: Feature<{
  settings: SwapSettings;
  serving: Omit<SwapRouteParts, 'validSeconds'>;
  working: SwapParts;
}> = {
  name: 'swaps',
  settings: defineSettings({
    variables: { SWAP_DEADLINE_SECONDS: z.coerce.number().int().min(30).max(86_400).default(1_200) },
    readme: [
      '| `SWAP_DEADLINE_SECONDS` | `1200` | how long a swap may take from being accepted; after that the amount comes back with its fee |',
    ],
    harmless: ['SWAP_DEADLINE_SECONDS'],
    read: ({ SWAP_DEADLINE_SECONDS }) => ({ validSeconds: SWAP_DEADLINE_SECONDS }),
  }),
  chapters: [
    {
      name: 'Swaps',
      description: `Swap ${listed(swapTokens)} for one another through Uniswap on Polygon.`,
      states: pictureOf(swapSaga, 'The states of a swap'),
    },
  ],
  events: swapEvents,
  sagas: [{ saga: swapSaga, handler: swapHandler }],
  routes: (parts, { validSeconds }) => swapRoutes({ ...parts, validSeconds }),
};
