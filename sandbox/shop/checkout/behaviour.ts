import { z } from 'zod';

/** How the shop behaves. Tests use it to simulate a slow, silent or dishonest shop. */
export const shopBehaviour = z.strictObject({
  /** Rejects every address. */
  refuseAddress: z.boolean().default(false),
  /** Requires the buyer on create or on complete. */
  askForBuyer: z.enum(['create', 'complete']).nullable().default(null),
  /** Raises every price by so many cents before completion. */
  raisePriceBy: z.int().min(0).default(0),
  /** Redeems more than its total, or less if negative. */
  redeemMore: z.int().default(0),
  /** Redeems in another currency. */
  redeemCurrency: z.enum(['USD', 'EUR']).nullable().default(null),
  /** Redeems a second time under another key. */
  redeemTwice: z.boolean().default(false),
  /** Redeems, then reports a failed payment and records no order. */
  refuseAfterRedeeming: z.boolean().default(false),
  /** Delays the response after recording the order. */
  answerLateMs: z.int().min(0).max(600_000).default(0),
  /** Then answers never, twice, with garbage or with an error. */
  answer: z.enum(['never', 'twice', 'garbage', 'error']).nullable().default(null),
});

export type ShopBehaviour = z.infer<typeof shopBehaviour>;
