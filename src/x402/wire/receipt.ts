import { z } from 'zod';

/**
 * What a seller says of a payment, in PAYMENT-RESPONSE and, in the first version, in X-PAYMENT-RESPONSE. The versions differ
 * in the network's name. As long as nothing is settled the transaction is empty.
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
