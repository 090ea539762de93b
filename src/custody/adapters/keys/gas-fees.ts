import { type FeeCeiling, type GasFees, keepBelow } from '../../../chains/gas-fee-ceiling.ts';
import type { Network } from '../../../chains/network.ts';
import { type Clock, monotonicClock } from '../../../kernel/clock.ts';
import type { ChainId } from '../../../money/catalogue.ts';

/** The current fees below the ceiling. Throws FeesAboveCeiling when the chain asks for more. */
export async function suggestFees({ id: chain, client, feeCeiling }: Network): Promise<GasFees> {
  const [block, tip] = await Promise.all([
    client.getBlock({ blockTag: 'latest' }),
    client.estimateMaxPriorityFeePerGas(),
  ]);
  return keepBelow(feeCeiling, { chain, baseFee: block.baseFeePerGas ?? 0n, tip });
}

/** The longest that an answer is cached, however rarely the chain is polled. */
const longestKeptMs = 1_000;

/** Asks a chain for its fees once for all transactions signed at about the same time. */
export function createFeeBook(clock: Clock = monotonicClock): (network: Network) => Promise<GasFees> {
  const known = new Map<ChainId, { readonly until: number; readonly fees: Promise<GasFees> }>();
  return (network) => {
    const { id, pollMs } = network;
    const now = clock.now();
    const last = known.get(id);
    if (last !== undefined && now < last.until) return last.fees;
    const asked = { until: now + Math.min(pollMs, longestKeptMs), fees: suggestFees(network) };
    known.set(id, asked);
    // A failure is not cached.
    asked.fees.catch(() => known.get(id) === asked && known.delete(id));
    return asked.fees;
  };
}

/**
 * Nodes accept a replacement only if both fees rise by a tenth; all of them accept an eighth. Undefined above the
 * ceiling: the last signed fees are the highest ever offered.
 */
export function bumpFees(before: GasFees, suggested: GasFees, ceiling: FeeCeiling): GasFees | undefined {
  const bumped = {
    maxFee: larger(suggested.maxFee, raise(before.maxFee)),
    priorityFee: larger(suggested.priorityFee, raise(before.priorityFee)),
  };
  return bumped.maxFee > ceiling.maxFee || bumped.priorityFee > ceiling.priorityFee ? undefined : bumped;
}

function raise(fee: bigint): bigint {
  return fee + fee / 8n + 1n;
}

function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
