import type { PublicClient } from 'viem';

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
