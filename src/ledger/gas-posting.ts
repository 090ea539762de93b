import { amountOf } from '../money/amount.ts';
import type { Asset, ChainId } from '../money/catalogue.ts';
import { houseAccount } from './account-id.ts';
import type { Posting } from './posting.ts';

/**
 * The cost of a transaction according to its receipt, paid in the operator's native coin. A house wallet pays from the
 * tank, a user's wallet from what was lent to it. The balance of `gas` shows how much of the operator's funding is
 * left. No posting when the cost is zero.
 */
export function gasSpent(spent: {
  readonly chain: ChainId;
  readonly native: Asset;
  readonly hash: string;
  readonly cost: bigint;
  readonly from: 'gas_tank' | 'gas_lent';
}): Posting[] {
  const { chain, native, hash, cost, from } = spent;
  if (cost === 0n) return [];
  return [
    {
      type: 'gas',
      amount: amountOf(native, cost),
      entries: [
        { account: houseAccount(from, native, chain), atomic: cost },
        { account: houseAccount('gas', native, chain), atomic: -cost },
      ],
      reference: `gas:${chain}:${hash}`,
    },
  ];
}
