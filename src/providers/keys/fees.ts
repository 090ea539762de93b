import type { PublicClient } from 'viem';
import type { ChainId } from '../../chains/chains.ts';
import type { Network } from '../../chains/network.ts';
import { type Clock, monotonicClock } from '../../clock.ts';

export interface GasFees {
  readonly maxFee: bigint;
  readonly priorityFee: bigint;
}

/** Room for the base fee to double before a transaction is stuck. */
export async function suggestFees(client: PublicClient): Promise<GasFees> {
  const [block, priorityFee] = await Promise.all([
    client.getBlock({ blockTag: 'latest' }),
    client.estimateMaxPriorityFeePerGas(),
  ]);
  return { maxFee: (block.baseFeePerGas ?? 0n) * 2n + priorityFee, priorityFee };
}

/** No answer is used for longer than this, however rarely a chain is looked at. */
const longestKeptMs = 1_000;

/** What a chain charges is asked once for all who sign at about the same time. */
export function createFeeBook(clock: Clock = monotonicClock): (network: Network) => Promise<GasFees> {
  const known = new Map<ChainId, { readonly until: number; readonly fees: Promise<GasFees> }>();
  return ({ id, client, pollMs }) => {
    const now = clock.now();
    const last = known.get(id);
    if (last !== undefined && now < last.until) return last.fees;
    const asked = { until: now + Math.min(pollMs, longestKeptMs), fees: suggestFees(client) };
    known.set(id, asked);
    // A failure is nobody's but theirs who wait for it now.
    asked.fees.catch(() => known.get(id) === asked && known.delete(id));
    return asked.fees;
  };
}

/** Nodes take a replacement only if both fees rise by a tenth; an eighth is what everybody accepts. */
export function bumpFees(before: GasFees, suggested: GasFees): GasFees {
  return {
    maxFee: larger(suggested.maxFee, raise(before.maxFee)),
    priorityFee: larger(suggested.priorityFee, raise(before.priorityFee)),
  };
}

function raise(fee: bigint): bigint {
  return fee + fee / 8n + 1n;
}

function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
