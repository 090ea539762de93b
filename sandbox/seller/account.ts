import { keccak256, toHex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';

/** Receives the payments and submits them. Its key is public and worth nothing outside a sandbox. */
export const sellerAccount = privateKeyToAccount(keccak256(toHex('Paywright sandbox: the seller of forecasts')));
