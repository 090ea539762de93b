import type { Hex } from 'viem';
import { unexplainedCalls } from '../../custody/steps/unknown-calls.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import { homeChain } from '../../money/catalogue.ts';
import type { Trade } from '../../money/market.ts';
import { findSwapper, type SwapParts } from './parts.ts';
import type { Swap } from './swap.ts';

/** Fixed once, because the swap is requested under one key. */
export type SwapWay = Pick<Trade, 'path' | 'recipient'>;

export function tradeOf({ net, amountOutMin, deadline }: Swap, way: SwapWay): Trade {
  return { from: net.asset, atomic: net.atomic, atLeast: amountOutMin.atomic, deadline, ...way };
}

/**
 * After a restore from a backup this swap may already be made, on a path that was chosen after the backup. If the wallet has sent an
 * unexplained transaction that matches it, the swap is requested with the same bytes: then the provider recognises it, even after the deadline.
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
