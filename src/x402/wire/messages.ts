import type { Hex } from 'viem';
import { z } from 'zod';
import type { SignedAuthorization } from '../../chains/authorization.ts';
import { type ChainId, chainIds, chains } from '../../money/catalogue.ts';

/** The seller's payment requirements in both versions. Unknown fields are ignored. */

const amount = z.string().regex(/^[0-9]{1,78}$/);
const record = z.record(z.string(), z.unknown());

export const terms1 = z.object({
  scheme: z.string().min(1),
  network: z.string().min(1),
  maxAmountRequired: amount,
  resource: z.string(),
  description: z.string(),
  mimeType: z.string().optional(),
  payTo: z.string().min(1),
  maxTimeoutSeconds: z.number().positive(),
  asset: z.string().min(1),
  extra: record.nullish(),
});
export type Terms1 = z.infer<typeof terms1>;

export const terms2 = z.object({
  scheme: z.string().min(1),
  network: z.string().min(3).includes(':'),
  amount,
  asset: z.string().min(1),
  payTo: z.string().min(1),
  maxTimeoutSeconds: z.number().positive(),
  extra: record.nullish(),
});
export type Terms2 = z.infer<typeof terms2>;

const resourceInfo = z.object({
  url: z.string(),
  description: z.string().optional(),
  mimeType: z.string().optional(),
});

/**
 * The seller's statement about a payment, in PAYMENT-RESPONSE or, in version 1, X-PAYMENT-RESPONSE. The versions differ
 * only in the network's name. The transaction is empty until settlement.
 */
export const receipt = z.object({
  success: z.boolean(),
  errorReason: z.string().nullish(),
  transaction: z.string(),
  network: z.string(),
  payer: z.string().nullish(),
  amount: z.string().nullish(),
  extensions: z.record(z.string(), z.unknown()).nullish(),
});
export type Receipt = z.infer<typeof receipt>;

export type X402Version = 1 | 2;

/** Version 1 has its own chain names; version 2 uses CAIP-2. */
export function networkName(chain: ChainId, version: X402Version): string {
  return version === 1 ? chains[chain].x402 : `eip155:${chains[chain].chainId}`;
}

const chainsByName = {
  1: new Map(chainIds.map((chain) => [networkName(chain, 1), chain])),
  2: new Map(chainIds.map((chain) => [networkName(chain, 2), chain])),
};

export function chainOfNetwork(name: string, version: X402Version): ChainId | undefined {
  return chainsByName[version].get(name);
}

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

export function toAuthorization({ signature, authorization }: z.output<typeof exactPayload>) {
  return {
    from: authorization.from as Hex,
    to: authorization.to as Hex,
    atomic: BigInt(authorization.value),
    validAfter: BigInt(authorization.validAfter),
    validBefore: BigInt(authorization.validBefore),
    nonce: authorization.nonce.toLowerCase() as Hex,
    signature: signature.toLowerCase() as Hex,
  } satisfies SignedAuthorization;
}

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
