import { BaseError, type Hex, isHex, RpcRequestError } from 'viem';
import { type Networks, tokenOf } from '../../chains/network.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import { keyFrozen } from '../../policies/frozen.ts';
import type { Withdrawal } from './withdrawal.ts';

type Payment = Pick<Withdrawal, 'id' | 'chain' | 'address' | 'net'>;

export function tokenToPay(networks: Networks, { id, chain, net }: Omit<Payment, 'address'>): Hex {
  const network = networks.get(chain);
  const token = network && tokenOf(network, net.asset);
  if (token === undefined) throw new Error(`withdrawal ${id} has no token to pay with`);
  return token.address;
}

/** A receiving contract runs at our cost, up to this limit; smart-contract wallets need a quarter of it. */
export const mostGas = 200_000n;

/** A made-up balance for the simulation. */
const plenty = 10n ** 36n;

/**
 * Simulates the payment and returns why it would fail. A contract sees its payer and the gas price, so both are real;
 * only the balance is made up, because the coin may not be unwrapped yet. The call has a gas limit, because an estimate
 * would follow an endless loop for as long as the node allows.
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

/**
 * A contract that passed the simulation but rejected the payment cost us gas, so it is not tried again for a day. A payment that
 * a frozen key has stopped says nothing about its recipient.
 */
async function hasRefusedLately(db: Queryable, { chain, address }: Payment): Promise<boolean> {
  const { rows } = await db.query(
    `SELECT FROM withdrawals w WHERE w.chain = $1 AND w.address = $2 AND w.status IN ('wrapping', 'failed')
        AND w.updated_at > now() - interval '1 day'
        AND EXISTS (SELECT FROM chain_steps s WHERE s.saga_id = w.id AND s.step = 'wrap')
        AND w.error IS DISTINCT FROM $3 LIMIT 1`,
    [chain, address, keyFrozen],
  );
  return rows.length > 0;
}

/** How nodes report that a contract's execution failed. */
const brokenOff = /revert|out of gas|opcode|jump|stack (under|over)flow|stack limit/i;

/** Undefined when the error is the node's own. */
function refusalIn(error: unknown): string | undefined {
  if (!(error instanceof BaseError)) return undefined;
  const rpc = error.walk((inner) => inner instanceof RpcRequestError) as RpcRequestError | null;
  if (rpc === null) return undefined;
  return rpc.code === 3 || isHex(rpc.data) || brokenOff.test(rpc.details) ? rpc.details : undefined;
}
