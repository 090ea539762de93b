import { type ChainState, dueTime, toQuantity } from './chain-state.ts';
import type { EvmNode } from './evm-node.ts';
import { result } from './execute-entry.ts';

export interface AwaitedTime {
  /** Somebody waits for a block of this time, or of a later one. */
  readonly until: unknown;
  /** The time of what is mined next in any case. */
  readonly plannedTime: number;
  readonly nowSeconds: number;
}

/**
 * A chain here mines when something is sent, so on a quiet one no deadline would ever pass. Whether an empty block has to
 * be mined: the chain's clock has reached the time that somebody waits for, and no block has. Whoever decides about the
 * next block themselves, by turning automine off or by naming its time, is left to it.
 */
export async function isBlockMissing(
  node: EvmNode,
  state: ChainState,
  { until, plannedTime, nowSeconds }: AwaitedTime,
): Promise<boolean> {
  const time = Number(toQuantity(until));
  if (!state.automine || state.nextBlockTime !== undefined) return false;
  if (time <= plannedTime || time > dueTime(state, nowSeconds)) return false;
  // Asked of the node and not of our state, because a chain that was put back has an older block again.
  const latest = await result<{ timestamp: string }>(node, 'eth_getBlockByNumber', ['latest', false]);
  return Number(latest.timestamp) < time;
}
