import { BaseError, decodeFunctionResult, encodeFunctionData, type Hex, HttpRequestError, RpcRequestError } from 'viem';
import { multicallAbi, multicallAddress, tokenAbi } from '../../chains/abi.ts';
import type { Network, Token } from '../../chains/network.ts';
import { inParallel } from '../../kernel/in-parallel.ts';

export interface Cursor {
  readonly blockNumber: bigint;
  readonly blockHash: Hex;
}

/** The block that was read is no longer part of the chain, so balances as of that block cannot be asked. */
export class BlockIsGone extends Error {
  override readonly name = 'BlockIsGone';
}

export async function requireBlock({ id, client }: Network, { blockNumber, blockHash }: Cursor): Promise<void> {
  const { hash } = await client.getBlock({ blockNumber });
  if (hash !== blockHash) throw new BlockIsGone(`block ${blockNumber} of ${id} was replaced by a reorg`);
}

/**
 * About 4 million gas and 230 KB per request. Nodes allow 10 million gas and more per call, and bodies of a megabyte.
 */
export const balancesPerRequest = 500;
/** When a node refuses, the request is halved, down to this many. */
const fewestPerRequest = 50;
const requestsAtOnce = 4;

export interface BalancesAt {
  readonly blockNumber: bigint;
  /** When aborted, no further request starts. */
  readonly signal?: AbortSignal | undefined;
  /** Called after each answered request. */
  readonly onAnswer?: (() => void) | undefined;
}

export interface TokenWallet {
  readonly token: Token;
  readonly address: Hex;
}

/** The balances of a token at a block, in the order of the addresses: all of them, or it throws. */
export function readBalances(
  network: Network,
  token: Token,
  addresses: readonly Hex[],
  at: BalancesAt,
): Promise<bigint[]> {
  return readTokenWallets(
    network,
    addresses.map((address) => ({ token, address })),
    at,
  );
}

/** The same for several tokens at once. */
export async function readTokenWallets(
  network: Network,
  wallets: readonly TokenWallet[],
  at: BalancesAt,
): Promise<bigint[]> {
  const slices: (readonly TokenWallet[])[] = [];
  for (let start = 0; start < wallets.length; start += balancesPerRequest) {
    slices.push(wallets.slice(start, start + balancesPerRequest));
  }
  const balances = await inParallel(slices, requestsAtOnce, (slice) => askForSlice(network, slice, at));
  return balances.flat();
}

async function askForSlice(network: Network, slice: readonly TokenWallet[], at: BalancesAt): Promise<bigint[]> {
  at.signal?.throwIfAborted();
  try {
    const balances = await ask(network, slice, at);
    at.onAnswer?.();
    return balances;
  } catch (error) {
    if (slice.length <= fewestPerRequest || !isRefusal(error)) throw error;
    const middle = slice.length >> 1;
    const first = await askForSlice(network, slice.slice(0, middle), at);
    return [...first, ...(await askForSlice(network, slice.slice(middle), at))];
  }
}

const balanceOf = '0x70a08231';

async function ask(
  { client }: Network,
  slice: readonly TokenWallet[],
  { blockNumber, signal }: BalancesAt,
): Promise<bigint[]> {
  const calls = slice.map(({ token, address }) => {
    const callData: Hex = `${balanceOf}${address.slice(2).toLowerCase().padStart(64, '0')}`;
    return { target: token.address, allowFailure: false, callData };
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

/** The node answered with an error, perhaps because the request was too large. A timeout is no answer. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof BaseError)) return false;
  const refused = error.walk(
    (inner) =>
      inner instanceof RpcRequestError ||
      (inner instanceof HttpRequestError && inner.status !== undefined && inner.status >= 400 && inner.status < 500),
  );
  return refused !== null;
}
