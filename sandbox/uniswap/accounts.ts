import { keccak256, toHex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';

/**
 * Owns the liquidity of the sandbox's pools and trades in them. Anybody can compute its key, which is worth nothing
 * outside a sandbox.
 */
export const marketMaker = privateKeyToAccount(keccak256(toHex('Paywright sandbox: the market maker')));
