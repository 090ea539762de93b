import { BaseError, type Hex, isHex, RpcRequestError } from 'viem';
import { type Networks, tokenOf } from '../../chains/network.ts';
import type { Queryable } from '../../kernel/db/database.ts';
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
export const mostGas = 200_000n;

/** A wallet that has the coin already, as far as the node is told. */
const plenty = 10n ** 36n;

/**
 * Why a recipient cannot be paid native coin by this wallet, if the chain says so now. A contract sees who pays it and at which
 * price of gas, so both are what they will be; only the balance is made up, for the coin need not be unwrapped yet. Nobody runs for
 * longer than is paid for: an estimate would follow a contract that comes to no end for as long as the node lets it.
 */
export async function findRecipientFault(
  db: Queryable,
  networks: Networks,
  payment: Payment,
  sender: Hex,
): Promise<string | undefined> {
  if (await hasRefusedLately(db, payment)) return 'The recipient is a contract that has refused native coin today.';
  const { chain, address, net } = payment;
  const { client } = networks.get(chain) ?? {};
  if (client === undefined) throw new Error(`${chain} is off`);
  try {
    await client.call({
      account: sender,
      to: address,
      value: net.atomic,
      gas: mostGas,
      gasPrice: await client.getGasPrice(),
      stateOverride: [{ address: sender, balance: plenty }],
    });
    return undefined;
  } catch (error) {
    const said = refusalIn(error);
    if (said === undefined) throw error;
    return /gas/i.test(said)
      ? 'The recipient is a contract that takes too much gas to be paid.'
      : 'The recipient is a contract that takes no native coin.';
  }
}

/** What refuses a payment after it was let through is not unwrapped for again the same day: the owner gets everything back, and the gas is ours. */
async function hasRefusedLately(db: Queryable, { chain, address }: Payment): Promise<boolean> {
  const { rows } = await db.query(
    `SELECT FROM withdrawals w WHERE w.chain = $1 AND w.address = $2 AND w.status IN ('wrapping', 'failed')
        AND w.updated_at > now() - interval '1 day'
        AND EXISTS (SELECT FROM chain_steps s WHERE s.saga_id = w.id AND s.step = 'wrap') LIMIT 1`,
    [chain, address],
  );
  return rows.length > 0;
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
