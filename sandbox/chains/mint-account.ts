import { keccak256, toHex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';

/**
 * Owns all play money: every native coin at the beginning, and the right to mint every token. Anybody can compute its
 * key, which is worth nothing outside a sandbox.
 */
export const mintAccount = privateKeyToAccount(keccak256(toHex('Paywright sandbox: the mint')));
