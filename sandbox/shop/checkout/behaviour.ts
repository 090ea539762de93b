import { z } from 'zod';

/** How the shop behaves. Whoever tests a client of it can make it difficult, late, silent or dishonest. */
export const shopBehaviour = z.strictObject({
  /** Delivers to no address. */
  refuseAddress: z.boolean().default(false),
  /** Asks for a person, when a checkout is created or only when it is completed. */
  askForBuyer: z.enum(['create', 'complete']).nullable().default(null),
  /** Every price has risen by so much by the time a checkout is completed. */
  raisePriceBy: z.int().min(0).default(0),
  /** Redeems so much more than its total (less, when it is negative), */
  redeemMore: z.int().default(0),
  /** or in another currency, */
  redeemCurrency: z.enum(['USD', 'EUR']).nullable().default(null),
  /** or once more under another key, when it was paid. */
  redeemTwice: z.boolean().default(false),
  /** Takes the payment, says that it did not pass, and records no order. */
  refuseAfterRedeeming: z.boolean().default(false),
  /** Waits so long before it says that there is an order, */
  answerLateMs: z.int().min(0).max(600_000).default(0),
  /** and then says it in this way: not at all, twice, as something that nobody can read, or as an error. */
  answer: z.enum(['never', 'twice', 'garbage', 'error']).nullable().default(null),
});

export type ShopBehaviour = z.infer<typeof shopBehaviour>;
