import { z } from 'zod';
import { describeIssue } from '../../../src/kernel/http/describe-issue.ts';
import { json, type ShopMessage, type ShopReply } from '../message.ts';
import type { Books } from './session.ts';
import type { ProductChange, Shelf } from './shelf.ts';

/**
 * `GET` and `POST /switches`, to simulate failures. Only under a loopback name, because the shop's own name may be reachable by
 * others. Requiring JSON keeps web pages out.
 */
export async function answerSwitches(
  { url, method, headers, body }: ShopMessage,
  switches: ShopSwitches,
  shelf: Shelf,
): Promise<ShopReply | undefined> {
  if (url.pathname !== '/switches' || !['127.0.0.1', 'localhost'].includes(url.hostname)) return undefined;
  if (method === 'POST') {
    if (!/^application\/json\b/i.test(headers['content-type'] ?? '')) return refuse('Send JSON, and say so.');
    const parsed = request.safeParse(body, { error: describeIssue });
    if (!parsed.success) return refuse(z.prettifyError(parsed.error));
    const { behaviour, products = {} } = parsed.data;
    const unknown = Object.keys(products).filter((slug) => shelf.change(slug, {}) === undefined);
    if (unknown.length > 0) return refuse(`There is no ${unknown.join(', ')}.`);
    if (behaviour !== undefined) switches.behave(behaviour);
    for (const [slug, change] of Object.entries(products)) await switches.setProduct(slug, change);
  } else if (method !== 'GET') return undefined;
  return json({
    behaviour: switches.behaviour,
    products: Object.fromEntries(
      shelf.products().map(({ slug, cents }) => [slug, { cents, stock: shelf.stockOf(slug) }]),
    ),
  });
}

function refuse(content: string): ShopReply {
  return json({ code: 'invalid_request', content }, { status: 400 });
}

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

const productChange = z.strictObject({
  cents: z.int().min(1).max(100_000_000).optional(),
  stock: z.int().min(0).max(1_000_000).optional(),
});

const request = z.strictObject({
  behaviour: shopBehaviour.optional(),
  products: z.record(z.string(), productChange).optional(),
});

export type ShopSwitches = ReturnType<typeof createSwitches>;

/** Controls the shop's behaviour, which lasts until it is set again or the shop restarts; prices and stock persist. */
export function createSwitches(books: Books, shelf: Shelf) {
  let behaviour = shopBehaviour.parse({});
  return {
    get behaviour() {
      return behaviour;
    },
    /** Omitted fields get their defaults, so `{}` restores normal behaviour. */
    behave(wanted: Partial<ShopBehaviour> = {}): void {
      behaviour = shopBehaviour.parse(wanted);
    },
    /** Throws for an unknown product. */
    async setProduct(slug: string, to: ProductChange): Promise<void> {
      const change = shelf.change(slug, to);
      if (change === undefined) throw new Error(`the demo shop has no ${slug}`);
      await books.commit([change]);
    },
  };
}
