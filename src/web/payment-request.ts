import type { Hex } from 'viem';

export interface PaymentRequest {
  readonly chainId: number;
  readonly token: Hex;
  readonly to: Hex;
  readonly atomic: bigint;
}

/** What a wallet reads from a QR code: this much of this token to this address on this chain (EIP-681). */
export function paymentRequest({ chainId, token, to, atomic }: PaymentRequest): string {
  return `ethereum:${token}@${chainId}/transfer?address=${to}&uint256=${atomic}`;
}
