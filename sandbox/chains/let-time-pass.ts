import { type ChainState, dueTime, toQuantity } from './chain-state.ts';
import type { EvmNode } from './evm-node.ts';
import { result } from './execute-entry.ts';

export interface AwaitedTime {
  /** The block time that a caller waits for. */
  readonly until: unknown;
  /** The time of a block that is about to be mined anyway. */
  readonly plannedTime: number;
  readonly nowSeconds: number;
}

/**
 * Local chains mine only on a transaction, so on a quiet chain no deadline would ever pass. Returns whether an empty block is
 * needed: the clock has reached the awaited time, but no block has. A caller that controls the next block itself, with automine
 * off or a set time, is not interfered with.
 */
export async function isBlockMissing(
  node: EvmNode,
  state: ChainState,
  { until, plannedTime, nowSeconds }: AwaitedTime,
): Promise<boolean> {
  const time = Number(toQuantity(until));
  if (!state.automine || state.nextBlockTime !== undefined) return false;
  if (time <= plannedTime || time > dueTime(state, nowSeconds)) return false;
  // From the node and not from our state, because a reverted chain has an older block again.
  const latest = await result<{ timestamp: string }>(node, 'eth_getBlockByNumber', ['latest', false]);
  return Number(latest.timestamp) < time;
}
