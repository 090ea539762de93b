import { recover } from 'tiny-secp256k1';
import { type Hex, hexToBytes, keccak256 } from 'viem';

/** A signed message, all in hex without a prefix. */
export interface SignedStruct {
  /** Of the token's EIP-712 domain. */
  readonly separator: string;
  /** The fields of the authorization, each a word. */
  readonly struct: string;
  /** 65 bytes whose v is 27 or 28. */
  readonly signature: string;
}

const typeHash = keccak256(
  new TextEncoder().encode(
    'TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)',
  ),
).slice(2);

/** In WebAssembly, which takes a tenth of viem's time. Undefined when no key can have made the signature. */
export function recoverSigner({ separator, struct, signature }: SignedStruct): Hex | undefined {
  const structHash = keccak256(`0x${typeHash}${struct}`).slice(2);
  const digest = keccak256(`0x1901${separator}${structHash}`, 'bytes');
  try {
    const key = recover(digest, hexToBytes(`0x${signature.slice(0, 128)}`), signature.endsWith('1b') ? 0 : 1, false);
    return key === null ? undefined : `0x${keccak256(key.subarray(1)).slice(26)}`;
  } catch {
    // The numbers are no point on the curve.
    return undefined;
  }
}
