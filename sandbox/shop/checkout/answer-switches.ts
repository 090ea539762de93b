import { z } from 'zod';
import { plainIssue } from '../../../src/kernel/http/plain-issue.ts';
import { json, type ShopMessage, type ShopReply } from '../message.ts';
import { shopBehaviour } from './behaviour.ts';
import type { Shelf } from './shelf.ts';
import { productChange, type ShopSwitches } from './switches.ts';

const request = z.strictObject({
  behaviour: shopBehaviour.optional(),
  products: z.record(z.string(), productChange).optional(),
});

/**
 * `GET` and `POST /switches`, to simulate failures. Only under a loopback name, because the shop's own name may be reachable by
 * others. Requiring JSON keeps web pages out.
 */
export async function answerSwitches(
  { url, method, headers, body }: ShopMessage,
  { switches, shelf }: { readonly switches: ShopSwitches; readonly shelf: Shelf },
): Promise<ShopReply | undefined> {
  if (url.pathname !== '/switches' || !['127.0.0.1', 'localhost'].includes(url.hostname)) return undefined;
  if (method === 'POST') {
    if (!/^application\/json\b/i.test(headers['content-type'] ?? '')) return refuse('Send JSON, and say so.');
    const parsed = request.safeParse(body, { error: plainIssue });
    if (!parsed.success) return refuse(z.prettifyError(parsed.error));
    const { behaviour, products = {} } = parsed.data;
    const unknown = Object.keys(products).filter((slug) => shelf.change(slug, {}) === undefined);
    if (unknown.length > 0) return refuse(`There is no ${unknown.join(', ')}.`);
    if (behaviour !== undefined) switches.behave(behaviour);
    for (const [slug, { cents, stock }] of Object.entries(products)) {
      await switches.setProduct(slug, { ...(cents !== undefined && { cents }), ...(stock !== undefined && { stock }) });
    }
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
