import type { Hex } from 'viem';

export interface PaymentRequest {
  readonly chainId: number;
  readonly token: Hex;
  readonly to: Hex;
  readonly atomic: bigint;
}

/** An EIP-681 payment request, which wallets read from a QR code. */
export function paymentRequest({ chainId, token, to, atomic }: PaymentRequest): string {
  return `ethereum:${token}@${chainId}/transfer?address=${to}&uint256=${atomic}`;
}
