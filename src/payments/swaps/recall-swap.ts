import type { Hex } from 'viem';
import { unexplainedCalls } from '../../custody/steps/unknown-calls.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import { homeChain } from '../../money/catalogue.ts';
import type { Trade } from '../../money/market.ts';
import { findSwapper, type SwapParts } from './parts.ts';
import type { Swap } from './swap.ts';

/** How it is swapped: decided once, because it is asked for under one key. */
export type SwapWay = Pick<Trade, 'path' | 'recipient'>;

export function tradeOf({ net, amountOutMin, deadline }: Swap, way: SwapWay): Trade {
  return { from: net.asset, atomic: net.atomic, atLeast: amountOutMin.atomic, deadline, ...way };
}

/**
 * After a restore from a backup this swap may have been made already, on a way that was chosen after the backup. If its wallet has
 * sent just this swap and nobody has explained that, it is asked for in the same bytes: then it is recognised, however late it is by now.
 */
export async function recallSwap(db: Queryable, { market }: SwapParts, swap: Swap): Promise<SwapWay | undefined> {
  const { address: wallet } = await findSwapper(db, swap);
  for (const data of await unexplainedCalls(db, { chain: homeChain, wallet, contract: market.spender })) {
    const way = market.readWay(data);
    if (way !== undefined && isSame(market.trade(tradeOf(swap, way)).data, data)) return way;
  }
  return undefined;
}

function isSame(one: Hex, other: Hex): boolean {
  return one.toLowerCase() === other.toLowerCase();
}
