import { decodeEventLog, type Hex, isAddressEqual, type TransactionReceipt } from 'viem';
import { tokenAbi } from '../../chains/abi.ts';

/** How much of a token the transfers have moved that are meant. */
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
      // An event that the token has besides.
    }
  }
  return sum;
}
