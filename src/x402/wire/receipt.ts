import { z } from 'zod';

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
