import { z } from 'zod';
import { resourceInfo, terms2 } from './terms.ts';

/** What a buyer sends, in both versions of x402. */

const address = z.string().regex(/^0x[0-9a-fA-F]{40}$/);
/** A uint256 in decimal digits. */
const uint = z
  .string()
  .regex(/^[0-9]{1,78}$/)
  .refine((digits) => BigInt(digits) < 2n ** 256n, 'It does not fit into 256 bits.');

/** How the scheme `exact` pays on an EVM chain: a signed authorization (EIP-3009). */
export const exactPayload = z.object({
  // Of a wallet that is a contract it may be longer than the 65 bytes of a key's.
  signature: z.string().regex(/^0x(?:[0-9a-fA-F]{2})+$/),
  authorization: z.object({
    from: address,
    to: address,
    value: uint,
    validAfter: uint,
    validBefore: uint,
    nonce: z.string().regex(/^0x[0-9a-fA-F]{64}$/),
  }),
});

const scheme = z.record(z.string(), z.unknown());

/** What X-PAYMENT holds. The payload is read once it is known to be of the scheme `exact`. */
export const payment1 = z.object({
  x402Version: z.literal(1),
  scheme: z.string().min(1),
  network: z.string().min(1),
  payload: scheme,
});
export type Payment1 = z.infer<typeof payment1>;

/** What PAYMENT-SIGNATURE holds. */
export const payment2 = z.object({
  x402Version: z.literal(2),
  resource: resourceInfo.nullish(),
  accepted: terms2,
  payload: scheme,
  extensions: z.record(z.string(), z.unknown()).nullish(),
});
export type Payment2 = z.infer<typeof payment2>;
