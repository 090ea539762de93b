import { keccak256, toHex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';

/** Owns the pools' liquidity and trades in them. Its key is public and worth nothing outside a sandbox. */
export const marketMaker = privateKeyToAccount(keccak256(toHex('Paywright sandbox: the market maker')));
