import { keccak256, toHex } from 'viem';
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';

/**
 * Two who sign every message, in the order in which their signatures stand: by address. Anybody can compute their keys,
 * which are worth nothing outside a sandbox.
 */
export const attesters: readonly PrivateKeyAccount[] = ['first', 'second']
  .map((name) => accountOf(`Paywright sandbox: the ${name} attester`))
  .sort((one, other) => (BigInt(one.address) < BigInt(other.address) ? -1 : 1));

/** Has every role in the protocol: it can pause it, set its fee and its limits, and keep somebody out. */
export const protocolAccount = accountOf('Paywright sandbox: the cross-chain protocol');

/** Where the protocol's fees go. */
export const feeRecipient = accountOf('Paywright sandbox: the fees of the cross-chain protocol').address;

function accountOf(name: string): PrivateKeyAccount {
  return privateKeyToAccount(keccak256(toHex(name)));
}
