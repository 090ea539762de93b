import { amountOf } from '../money/amount.ts';
import type { Asset, ChainId } from '../money/catalogue.ts';
import { houseAccount } from './account-id.ts';
import type { Posting } from './posting.ts';

/**
 * What a transaction cost, as its receipt tells, paid in the chain's native coin. That coin is the operator's: `gas` says
 * how much of what he put in is left. A house wallet pays from the tank, a user's wallet from what was lent to it. Nothing
 * when it was free.
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
