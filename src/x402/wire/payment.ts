import { z } from 'zod';
import { resourceInfo, terms2 } from './terms.ts';

/** What a buyer sends, in both versions of x402. */

const address = z.string().regex(/^0x[0-9a-fA-F]{40}$/);
/** A uint256 in decimal digits. */
const uint = z
  .string()
  .regex(/^[0-9]{1,78}$/)
  .refine((digits) => BigInt(digits) < 2n ** 256n, 'It does not fit into 256 bits.');

/** The payload of the scheme `exact` on an EVM chain: a signed EIP-3009 authorization. */
export const exactPayload = z.object({
  // Signatures of smart-contract wallets can be longer than 65 bytes.
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

/** X-PAYMENT. The payload is parsed only once the scheme is known to be `exact`. */
export const payment1 = z.object({
  x402Version: z.literal(1),
  scheme: z.string().min(1),
  network: z.string().min(1),
  payload: scheme,
});
export type Payment1 = z.infer<typeof payment1>;

/** PAYMENT-SIGNATURE. */
export const payment2 = z.object({
  x402Version: z.literal(2),
  resource: resourceInfo.nullish(),
  accepted: terms2,
  payload: scheme,
  extensions: z.record(z.string(), z.unknown()).nullish(),
});
export type Payment2 = z.infer<typeof payment2>;
