import { keccak256, toHex } from 'viem';
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';

/** The two attesters, sorted by address like their signatures. Their keys are public and worth nothing outside a sandbox. */
export const attesters: readonly PrivateKeyAccount[] = ['first', 'second']
  .map((name) => accountOf(`Paywright sandbox: the ${name} attester`))
  .sort((one, other) => (BigInt(one.address) < BigInt(other.address) ? -1 : 1));

/** Holds every role of the protocol: it can pause it, set fees and limits, and deny an address. */
export const protocolAccount = accountOf('Paywright sandbox: the cross-chain protocol');

export const feeRecipient = accountOf('Paywright sandbox: the fees of the cross-chain protocol').address;

function accountOf(name: string): PrivateKeyAccount {
  return privateKeyToAccount(keccak256(toHex(name)));
}
