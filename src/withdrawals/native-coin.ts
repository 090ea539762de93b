import { BaseError, type Hex, isHex, RpcRequestError } from 'viem';
import { type Networks, tokenOf } from '../chains/network.ts';
import type { Withdrawal } from './withdrawal.ts';

type Payment = Pick<Withdrawal, 'id' | 'chain' | 'address' | 'net'>;

export function tokenToPay(networks: Networks, { id, chain, net }: Omit<Payment, 'address'>): Hex {
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
 * Why a recipient cannot be paid native coin, if the chain says so now. The contract that holds all wrapped coin is asked for in
 * our place, for the treasury need not have that much native coin yet. Nobody runs for longer than is paid for: an estimate
 * would follow a contract that comes to no end for as long as the node lets it.
 */
export async function findRecipientFault(networks: Networks, payment: Payment): Promise<string | undefined> {
  const { chain, address, net } = payment;
  try {
    const account = tokenToPay(networks, payment);
    await networks.get(chain)?.client.call({ account, to: address, value: net.atomic, gas: mostGas });
    return undefined;
  } catch (error) {
    const said = refusalIn(error);
    if (said === undefined) throw error;
    return /gas/i.test(said)
      ? 'The recipient is a contract that takes too much gas to be paid.'
      : 'The recipient is a contract that takes no native coin.';
  }
}

/** In the words of nodes: a contract can also end in ways that it has not chosen. */
const brokenOff = /revert|out of gas|opcode|jump|stack (under|over)flow|stack limit/i;

/** What the recipient's code has come to, unless the error is the node's own. */
function refusalIn(error: unknown): string | undefined {
  if (!(error instanceof BaseError)) return undefined;
  const rpc = error.walk((inner) => inner instanceof RpcRequestError) as RpcRequestError | null;
  if (rpc === null) return undefined;
  return rpc.code === 3 || isHex(rpc.data) || brokenOff.test(rpc.details) ? rpc.details : undefined;
}
