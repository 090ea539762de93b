import { domainSeparator, type Hex, hexToBytes, keccak256, type TypedDataDomain } from 'viem';
import type { SignedAuthorization } from '../../chains/authorization.ts';

/** Returns the signer's address. Undefined for a signature that the token would refuse. */
export type RecoverPayer = (authorization: SignedAuthorization) => Hex | undefined;

const typeHash = keccak256(
  new TextEncoder().encode(
    'TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)',
  ),
).slice(2);

/** Half of the curve order. The token refuses a larger s, a second signature of the same message. */
const mostS = '7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0';

/**
 * Recovers in WebAssembly, which takes a tenth of viem's time (`bench/nano.ts`); loaded with the first payment.
 * Smart-contract signatures are not supported, because each would cost a chain call.
 */
export async function createRecoverPayer(domain: TypedDataDomain): Promise<RecoverPayer> {
  const { recover } = await import('tiny-secp256k1');
  const separator = domainSeparator({ domain }).slice(2);

  return (authorization) => {
    const signature = authorization.signature.slice(2).toLowerCase();
    if (signature.length !== 130) return undefined;
    const v = Number.parseInt(signature.slice(128), 16);
    if ((v !== 27 && v !== 28) || signature.slice(64, 128) > mostS) return undefined;
    try {
      const digest = hexToBytes(digestOf(authorization, separator));
      const key = recover(digest, hexToBytes(`0x${signature.slice(0, 128)}`), v === 27 ? 0 : 1, false);
      return key === null ? undefined : `0x${keccak256(key.subarray(1)).slice(26)}`;
    } catch {
      // The numbers are no point on the curve.
      return undefined;
    }
  };
}

/** EIP-712. Every field is a 32-byte word. */
function digestOf(authorization: SignedAuthorization, separator: string): Hex {
  const { from, to, atomic, validAfter = 0n, validBefore, nonce } = authorization;
  const words = [
    typeHash,
    word(from),
    word(to),
    number(atomic),
    number(validAfter),
    number(validBefore),
    nonce.slice(2),
  ];
  const struct = keccak256(`0x${words.join('')}`);
  return keccak256(`0x1901${separator}${struct.slice(2)}`);
}

function word(address: Hex): string {
  return address.slice(2).toLowerCase().padStart(64, '0');
}

function number(value: bigint): string {
  return value.toString(16).padStart(64, '0');
}
