import { decodeEventLog, type Hex, isAddressEqual, type TransactionReceipt } from 'viem';
import { tokenAbi } from '../../chains/abi.ts';

/** The sum of a token's transfers that match. */
export function movedIn(
  logs: TransactionReceipt['logs'],
  token: Hex,
  isMeant: (transfer: { readonly from: Hex; readonly to: Hex }) => boolean,
): bigint {
  let sum = 0n;
  for (const { address, data, topics } of logs) {
    if (!isAddressEqual(address, token)) continue;
    try {
      const { eventName, args } = decodeEventLog({ abi: tokenAbi, data, topics });
      if (eventName === 'Transfer' && isMeant(args)) sum += args.value;
    } catch {
      // Another event of the token.
    }
  }
  return sum;
}
