import { keccak256, toHex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';

/** Owns all native coin at genesis and may mint every token. Its key is public and worth nothing outside a sandbox. */
export const mintAccount = privateKeyToAccount(keccak256(toHex('Paywright sandbox: the mint')));
