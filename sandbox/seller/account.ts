import { keccak256, toHex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';

/**
 * Is paid for forecasts, and submits the payments itself. Anybody can compute its key, which is worth nothing outside a sandbox.
 */
export const sellerAccount = privateKeyToAccount(keccak256(toHex('Paywright sandbox: the seller of forecasts')));
