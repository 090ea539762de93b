import type { Hex, PublicClient } from 'viem';

interface SpentNonce {
  readonly address: Hex;
  readonly nonce: bigint;
  /** The range of blocks to search. */
  readonly from: bigint;
  readonly to: bigint;
}

/**
 * Finds the transaction that used a nonce: `free` when none did, `unclear` when it was used before `from`. A node that
 * lags behind knows fewer blocks, so a missing transaction proves nothing.
 */
export async function findSpender(
  client: PublicClient,
  { address, nonce, from, to }: SpentNonce,
): Promise<Hex | 'free' | 'unclear'> {
  const isUsedAt = async (blockNumber: bigint) =>
    BigInt(await client.getTransactionCount({ address, blockNumber })) > nonce;
  if (!(await isUsedAt(to))) return 'free';
  let before = from < 0n ? 0n : from;
  let after = to;
  if (await isUsedAt(before)) return 'unclear';
  while (after - before > 1n) {
    const middle = (before + after) / 2n;
    if (await isUsedAt(middle)) after = middle;
    else before = middle;
  }
  const { transactions } = await client.getBlock({ blockNumber: after, includeTransactions: true });
  const spender = transactions.find((one) => one.from === address.toLowerCase() && BigInt(one.nonce) === nonce);
  return spender?.hash ?? 'unclear';
}
