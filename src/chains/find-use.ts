import { decodeEventLog, type Hex, isAddressEqual, type TransactionReceipt } from 'viem';
import { tokenAbi } from './abi.ts';
import type { Authorization } from './authorization.ts';
import { findReceipt } from './find-receipt.ts';
import type { Network, Token } from './network.ts';

/** The transaction that has used an authorization, whoever sent it. */
export interface Use {
  readonly hash: Hex;
  readonly blockNumber: bigint;
}

type Known = Pick<Authorization, 'from' | 'nonce'>;

/** Blocks that one request may ask about; nodes refuse more. */
const blocksAtOnce = 1_000n;

/**
 * Finds the transaction that has used an authorization, in these blocks. Whoever submitted it may have told which one it was;
 * that is looked at first, and believed only when its receipt says so.
 */
export async function findUse(
  network: Network,
  token: Token,
  authorization: Known,
  { from, to, hint }: { readonly from: bigint; readonly to: bigint; readonly hint?: Hex | undefined },
): Promise<Use | undefined> {
  const hinted = hint && (await findReceipt(network.client, hint));
  if (hinted && hinted.blockNumber <= to && hasUsed(hinted, token, authorization)) {
    return { hash: hinted.transactionHash, blockNumber: hinted.blockNumber };
  }
  for (let first = from; first <= to; first += blocksAtOnce) {
    const last = first + blocksAtOnce - 1n;
    const [log] = await network.client.getContractEvents({
      address: token.address,
      abi: tokenAbi,
      eventName: 'AuthorizationUsed',
      args: { authorizer: authorization.from, nonce: authorization.nonce },
      fromBlock: first,
      toBlock: last < to ? last : to,
    });
    if (log !== undefined) return { hash: log.transactionHash, blockNumber: log.blockNumber };
  }
  return undefined;
}

/** Whether the token says in this receipt that the authorization was used. */
export function hasUsed({ status, logs }: TransactionReceipt, token: Token, { from, nonce }: Known): boolean {
  if (status !== 'success') return false;
  return logs.some((log) => {
    if (!isAddressEqual(log.address, token.address)) return false;
    try {
      const { eventName, args } = decodeEventLog({ abi: tokenAbi, data: log.data, topics: log.topics });
      return eventName === 'AuthorizationUsed' && isAddressEqual(args.authorizer, from) && args.nonce === nonce;
    } catch {
      return false;
    }
  });
}
