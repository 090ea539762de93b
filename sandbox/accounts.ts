import { keccak256, toHex } from 'viem';
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';

/** Owns the pools' liquidity and trades in them. Its key is public and worth nothing outside a sandbox. */
export const marketMaker = privateKeyToAccount(keccak256(toHex('Paywright sandbox: the market maker')));

/** Receives the payments and submits them. Its key is public and worth nothing outside a sandbox. */
export const sellerAccount = privateKeyToAccount(keccak256(toHex('Paywright sandbox: the seller of forecasts')));

/** Owns all native coin at genesis and may mint every token. Its key is public and worth nothing outside a sandbox. */
export const mintAccount = privateKeyToAccount(keccak256(toHex('Paywright sandbox: the mint')));

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
