import { BaseError, decodeFunctionResult, encodeFunctionData, type Hex, HttpRequestError, RpcRequestError } from 'viem';
import { multicallAbi, multicallAddress, tokenAbi } from '../chains/abi.ts';
import type { Network, Token } from '../chains/network.ts';
import { inParallel } from '../in-parallel.ts';

/**
 * Balances that one request asks for: about 4 million gas and 230 KB. Nodes give a call 10 million and more, and take
 * bodies of a megabyte.
 */
const balancesPerRequest = 500;
/** A node that takes less is asked for half as many, and half of that again, but not for fewer than these. */
const fewestPerRequest = 50;
const requestsAtOnce = 4;

export interface BalancesAt {
  readonly blockNumber: bigint;
  /** Once it is aborted no further request is begun. */
  readonly signal?: AbortSignal | undefined;
  /** Told whenever the node has answered one of the requests. */
  readonly onAnswer?: (() => void) | undefined;
}

/** What each of the addresses holds of a token at a block, in the order of the addresses: all of them, or it fails. */
export async function readBalances(
  network: Network,
  token: Token,
  addresses: readonly Hex[],
  at: BalancesAt,
): Promise<bigint[]> {
  const slices: (readonly Hex[])[] = [];
  for (let start = 0; start < addresses.length; start += balancesPerRequest) {
    slices.push(addresses.slice(start, start + balancesPerRequest));
  }
  const balances = await inParallel(slices, requestsAtOnce, (slice) => askForSlice(network, token, slice, at));
  return balances.flat();
}

async function askForSlice(network: Network, token: Token, slice: readonly Hex[], at: BalancesAt): Promise<bigint[]> {
  at.signal?.throwIfAborted();
  try {
    const balances = await ask(network, token, slice, at);
    at.onAnswer?.();
    return balances;
  } catch (error) {
    if (slice.length <= fewestPerRequest || !isRefusal(error)) throw error;
    const middle = slice.length >> 1;
    const first = await askForSlice(network, token, slice.slice(0, middle), at);
    return [...first, ...(await askForSlice(network, token, slice.slice(middle), at))];
  }
}

const balanceOf = '0x70a08231';

async function ask(
  { client }: Network,
  { address: target }: Token,
  slice: readonly Hex[],
  { blockNumber, signal }: BalancesAt,
): Promise<bigint[]> {
  const calls = slice.map((address) => {
    const callData: Hex = `${balanceOf}${address.slice(2).toLowerCase().padStart(64, '0')}`;
    return { target, allowFailure: false, callData };
  });
  const { data = '0x' } = await client.call({
    to: multicallAddress,
    data: encodeFunctionData({ abi: multicallAbi, functionName: 'aggregate3', args: [calls] }),
    blockNumber,
    ...(signal !== undefined && { requestOptions: { signal } }),
  });
  const results = decodeFunctionResult({ abi: multicallAbi, functionName: 'aggregate3', data });
  if (results.length !== slice.length) throw new Error(`${results.length} balances for ${slice.length} wallets`);
  return results.map(({ returnData }) =>
    decodeFunctionResult({ abi: tokenAbi, functionName: 'balanceOf', data: returnData }),
  );
}

/** The node has answered, and the answer is no: perhaps it was too much. Silence is no answer. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof BaseError)) return false;
  const refused = error.walk(
    (inner) =>
      inner instanceof RpcRequestError ||
      (inner instanceof HttpRequestError && inner.status !== undefined && inner.status >= 400 && inner.status < 500),
  );
  return refused !== null;
}
