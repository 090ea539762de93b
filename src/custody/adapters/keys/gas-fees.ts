import { type FeeCeiling, type GasFees, keepBelow } from '../../../chains/gas-fee-ceiling.ts';
import type { Network } from '../../../chains/network.ts';
import { type Clock, monotonicClock } from '../../../kernel/clock.ts';
import type { ChainId } from '../../../money/catalogue.ts';

/** What the chain asks for at this moment, below the ceiling; throws FeesAboveCeiling when it asks for more. */
export async function suggestFees({ id: chain, client, feeCeiling }: Network): Promise<GasFees> {
  const [block, tip] = await Promise.all([
    client.getBlock({ blockTag: 'latest' }),
    client.estimateMaxPriorityFeePerGas(),
  ]);
  return keepBelow(feeCeiling, { chain, baseFee: block.baseFeePerGas ?? 0n, tip });
}

/** No answer is used for longer than this, however rarely a chain is looked at. */
const longestKeptMs = 1_000;

/** What a chain charges is asked once for all who sign at about the same time. */
export function createFeeBook(clock: Clock = monotonicClock): (network: Network) => Promise<GasFees> {
  const known = new Map<ChainId, { readonly until: number; readonly fees: Promise<GasFees> }>();
  return (network) => {
    const { id, pollMs } = network;
    const now = clock.now();
    const last = known.get(id);
    if (last !== undefined && now < last.until) return last.fees;
    const asked = { until: now + Math.min(pollMs, longestKeptMs), fees: suggestFees(network) };
    known.set(id, asked);
    // A failure is nobody's but theirs who wait for it now.
    asked.fees.catch(() => known.get(id) === asked && known.delete(id));
    return asked.fees;
  };
}

/**
 * Nodes take a replacement only if both fees rise by a tenth; an eighth is what everybody accepts. Undefined when that would
 * be above the ceiling: then what was signed last is all that is ever offered.
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
