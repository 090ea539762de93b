import { decodeEventLog, type Hex, isAddressEqual, type TransactionReceipt } from 'viem';
import { tokenAbi } from './abi.ts';
import type { Token } from './network.ts';
import { wrappedCoinAbi } from './wrapped-coin.ts';

interface TokenTransfer {
  readonly from: Hex;
  readonly to: Hex;
  readonly atomic: bigint;
}

/** Undefined for another event or another token. */
export function transferIn(
  log: TransactionReceipt['logs'][number] | undefined,
  token: Token,
): TokenTransfer | undefined {
  if (log === undefined || !isAddressEqual(log.address, token.address)) return undefined;
  try {
    const { eventName, args } = decodeEventLog({ abi: tokenAbi, data: log.data, topics: log.topics });
    return eventName === 'Transfer' ? { from: args.from, to: args.to, atomic: args.value } : undefined;
  } catch {
    // Another event of the token.
    return undefined;
  }
}

/** What a wallet unwrapped: the token is burned without a `Transfer` event. */
export function unwrappedIn(
  log: TransactionReceipt['logs'][number] | undefined,
  token: Token,
): Pick<TokenTransfer, 'from' | 'atomic'> | undefined {
  if (log === undefined || !isAddressEqual(log.address, token.address)) return undefined;
  try {
    const { args } = decodeEventLog({ abi: wrappedCoinAbi, data: log.data, topics: log.topics });
    return { from: args.src, atomic: args.wad };
  } catch {
    return undefined;
  }
}
