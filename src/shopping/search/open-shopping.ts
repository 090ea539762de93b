import type { Clock } from '../../kernel/clock.ts';
import type { Outgoing } from '../../kernel/outgoing/outgoing.ts';
import type { Parser } from '../../kernel/parser/parser.ts';
import { describeAgent } from './agent.ts';
import type { MerchantPlatform } from './merchant-platform.ts';
import { createRobotsCache } from './merchant-site.ts';
import { createPictures } from './pictures.ts';
import { createMerchantSearch, limitSearch } from './search-merchant.ts';

export type Shopping = ReturnType<typeof openShopping>;

export interface ShoppingOptions {
  readonly outgoing: Outgoing;
  readonly parser: Parser;
  readonly clock: Clock;
  readonly platforms: readonly MerchantPlatform[];
  readonly publicUrl: () => string;
}

export function openShopping({ outgoing, parser, clock, platforms, publicUrl }: ShoppingOptions) {
  const robots = createRobotsCache({ clock });
  const agent = () => describeAgent(publicUrl());
  return {
    merchants: limitSearch(createMerchantSearch({ outgoing, parser, clock, platforms, agent, robots })),
    pictures: createPictures({ outgoing, parser, clock, agent, robots }),
    robots,
    agent,
  };
}
