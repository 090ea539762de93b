import type { TypedDataDefinition } from 'viem';
import { getTypesForEIP712Domain, type Hex, parseSignature, serializeSignature, serializeTypedData } from 'viem';

/** Circle reads typed data as JSON, and wants the domain's own type to be part of it. */
export function toTypedDataText({ domain = {}, types, primaryType, message }: TypedDataDefinition): string {
  return serializeTypedData({
    domain: { ...domain, ...(domain.chainId !== undefined && { chainId: Number(domain.chainId) }) },
    types: { EIP712Domain: getTypesForEIP712Domain({ domain }), ...types },
    primaryType,
    message,
  } as TypedDataDefinition);
}

/** Token contracts take 27 and 28 as the last byte, and not the 0 and 1 that some signers write. */
export function toContractSignature(signature: Hex): Hex {
  return serializeSignature(parseSignature(signature));
}
