import { getAddress, type Hex, isAddress } from 'viem';
import { z } from 'zod';

/** The parts of Circle's responses that we read. */
export const walletAnswer = z.object({
  id: z.guid(),
  address: z
    .string()
    .refine((text) => isAddress(text, { strict: false }))
    .transform((text) => getAddress(text)),
});

export const transactionAnswer = z.object({
  id: z.guid(),
  /** Circle may have states that we do not know yet; none of them is final. */
  state: z.string(),
  txHash: z
    .string()
    .optional()
    .transform((text) => (/^0x[0-9a-fA-F]{64}$/.test(text ?? '') ? (text as Hex) : undefined)),
  blockHeight: z.number().int().nonnegative().optional().catch(undefined),
  networkFee: z.string().optional(),
  /** In gwei. */
  estimatedFee: z.object({ maxFee: z.string().optional() }).optional().catch(undefined),
  errorReason: z.string().optional(),
  errorDetails: z.string().optional(),
});

export type CircleTransaction = z.output<typeof transactionAnswer>;

/** A response that does not match Circle's documentation. It says nothing about what was done. */
export class UnreadableAnswer extends Error {
  override readonly name = 'UnreadableAnswer';
}

export function readAnswer<Schema extends z.ZodType>(schema: Schema, answer: unknown): z.output<Schema> {
  const parsed = schema.safeParse(answer);
  if (parsed.success) return parsed.data;
  throw new UnreadableAnswer(parsed.error.issues.map((issue) => issue.path.join('.') || 'all of it').join(', '));
}
