import type { TypedDataDefinition } from 'viem';
import { getTypesForEIP712Domain, type Hex, parseSignature, serializeSignature, serializeTypedData } from 'viem';

/** Circle reads typed data as JSON that includes the domain's own type. */
export function toTypedDataText({ domain = {}, types, primaryType, message }: TypedDataDefinition): string {
  return serializeTypedData({
    domain: { ...domain, ...(domain.chainId !== undefined && { chainId: Number(domain.chainId) }) },
    types: { EIP712Domain: getTypesForEIP712Domain({ domain }), ...types },
    primaryType,
    message,
  } as TypedDataDefinition);
}

/** Token contracts expect 27 or 28 as the last byte, not the 0 or 1 of some signers. */
export function toContractSignature(signature: Hex): Hex {
  return serializeSignature(parseSignature(signature));
}
