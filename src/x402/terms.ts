import { z } from 'zod';

/** What a seller asks for, in both versions of x402. What we do not know of is left alone and not refused. */

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

/** One offer that we cannot read takes no other with it: a seller may know schemes that we have never heard of. */
function readable<T extends z.ZodType>(offer: T) {
  return z.array(z.unknown()).transform((offers) =>
    offers.flatMap((given): z.output<T>[] => {
      const read = offer.safeParse(given);
      return read.success ? [read.data] : [];
    }),
  );
}

/** The body of a 402, in the first version. */
export const paymentRequired1 = z.object({
  x402Version: z.literal(1),
  error: z.string().nullish(),
  accepts: readable(terms1),
});

/** What the PAYMENT-REQUIRED header of a 402 holds, in the second version. */
export const paymentRequired2 = z.object({
  x402Version: z.literal(2),
  error: z.string().nullish(),
  resource: resourceInfo,
  accepts: readable(terms2),
  extensions: record.nullish(),
});
