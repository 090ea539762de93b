import { BaseError, type Hex, isHex, RpcRequestError } from 'viem';
import { type Network, type Networks, tokenOf } from '../chains/network.ts';
import type { Withdrawal } from './withdrawal.ts';

export function tokenToPay(networks: Networks, { id, chain, net }: Pick<Withdrawal, 'id' | 'chain' | 'net'>): Hex {
  const network = networks.get(chain);
  const token = network && tokenOf(network, net.asset);
  if (token === undefined) throw new Error(`withdrawal ${id} has no token to pay with`);
  return token.address;
}

/**
 * What a recipient may use of gas. A contract that is paid native coin runs, at our cost: wallets that are contracts need a
 * quarter of this.
 */
const mostGas = 200_000n;

/**
 * Why an address cannot be paid native coin, if the chain says so now: then it need not be unwrapped first. The contract that
 * holds all wrapped coin is asked for in our place, for the treasury need not have that much native coin yet.
 */
export async function findUnpayable(
  { client }: Network,
  { wrapped, address, atomic }: { readonly wrapped: Hex; readonly address: Hex; readonly atomic: bigint },
): Promise<string | undefined> {
  try {
    const gas = await client.estimateGas({ account: wrapped, to: address, value: atomic });
    return gas > mostGas ? 'The recipient is a contract that takes too much gas to be paid.' : undefined;
  } catch (error) {
    if (isRevert(error)) return 'The recipient is a contract that takes no native coin.';
    throw error;
  }
}

function isRevert(error: unknown): boolean {
  if (!(error instanceof BaseError)) return false;
  const rpc = error.walk((inner) => inner instanceof RpcRequestError) as RpcRequestError | null;
  return rpc !== null && (rpc.code === 3 || isHex(rpc.data) || /revert/i.test(rpc.details));
}
