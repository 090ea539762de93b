import { z } from 'zod';

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

export const resourceInfo = z.object({
  url: z.string(),
  description: z.string().optional(),
  mimeType: z.string().optional(),
});
