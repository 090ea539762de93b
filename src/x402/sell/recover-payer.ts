import { domainSeparator, type Hex, type TypedDataDomain } from 'viem';
import type { SignedAuthorization } from '../../chains/authorization.ts';
import { type RecoveryThreads, sharedThreads } from './recovery-threads.ts';

/** Returns the signer's address. Undefined for a signature that the token would refuse. */
export type RecoverPayer = (authorization: SignedAuthorization) => Promise<Hex | undefined>;

/** Half of the curve order. The token refuses a larger s, a second signature of the same message. */
const mostS = '7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0';

/**
 * Recovers in threads, because one recovery would block the event loop for longer than all other work of a call.
 * Smart-contract signatures are not supported, because each would cost a chain call.
 */
export function createRecoverPayer(domain: TypedDataDomain, threads: RecoveryThreads = sharedThreads()): RecoverPayer {
  const separator = domainSeparator({ domain }).slice(2);

  return async (authorization) => {
    const signature = authorization.signature.slice(2).toLowerCase();
    if (signature.length !== 130) return undefined;
    const v = signature.slice(128);
    if ((v !== '1b' && v !== '1c') || signature.slice(64, 128) > mostS) return undefined;
    return threads.recover({ separator, struct: structOf(authorization), signature });
  };
}

/** The fields of the authorization in EIP-712's order. Each is a 32-byte word. */
function structOf({ from, to, atomic, validAfter = 0n, validBefore, nonce }: SignedAuthorization): string {
  const words = [word(from), word(to), number(atomic), number(validAfter), number(validBefore), nonce.slice(2)];
  return words.join('');
}

function word(address: Hex): string {
  return address.slice(2).toLowerCase().padStart(64, '0');
}

function number(value: bigint): string {
  return value.toString(16).padStart(64, '0');
}
