import { z } from 'zod';
import type { Verb } from '../checkout/answer-checkout.ts';
import { contents, payment } from '../checkout/read-body.ts';
import type { Shop } from '../shop.ts';
import type { CatalogVerb } from '../ways/ucp.ts';

const agent = { 'ucp-agent': z.object({ profile: z.string() }) };
const key = z.string().min(16).max(255);
const meta = z.object({ ...agent, 'idempotency-key': key.optional() });
/** Completing and canceling require an idempotency key. */
const keyedMeta = z.object({ ...agent, 'idempotency-key': key });

const id = z.string().min(1).max(100);
const ids = z.array(id).min(1).max(50);
const text = z.string().max(1_000);
const ignored = z.unknown().optional();
/** UCP fields that this shop ignores. */
const besides = { context: ignored, signals: ignored, attribution: ignored, filters: ignored };

interface ToolOf<Kind extends string, Does extends string> {
  readonly name: string;
  readonly description: string;
  readonly kind: Kind;
  readonly verb: Does;
  readonly schema: z.ZodType;
  readonly inputSchema: object;
}

export type Tool = ToolOf<'catalog', CatalogVerb> | ToolOf<'checkout', Verb>;

function tool<Kind extends string, Does extends string>(
  [kind, verb]: readonly [Kind, Does],
  name: string,
  description: string,
  schema: z.ZodType,
): ToolOf<Kind, Does> {
  return { kind, verb, name, description, schema, inputSchema: z.toJSONSchema(schema, { io: 'input' }) };
}

/** Names and shapes follow UCP's `mcp.openrpc.json`, in which both versions agree here. */
const catalogTools: readonly Tool[] = [
  tool(
    ['catalog', 'search'],
    'search_catalog',
    'Find products by words.',
    z.object({
      meta,
      catalog: z.object({
        query: text.optional(),
        pagination: z.object({ limit: z.int().optional() }).optional(),
        ...besides,
      }),
    }),
  ),
  tool(
    ['catalog', 'lookup'],
    'lookup_catalog',
    'Products by the ids of products or variants.',
    z.object({ meta, catalog: z.object({ ids, ...besides }) }),
  ),
  tool(
    ['catalog', 'product'],
    'get_product',
    'One product, by its id or that of a variant.',
    z.object({ meta, catalog: z.object({ id, selected: ignored, preferences: ignored, ...besides }) }),
  ),
];

const checkoutTools: readonly Tool[] = [
  tool(['checkout', 'create'], 'create_checkout', 'Begin a checkout.', z.object({ meta, checkout: contents })),
  tool(['checkout', 'show'], 'get_checkout', 'How a checkout stands.', z.object({ meta, id })),
  tool(
    ['checkout', 'update'],
    'update_checkout',
    'Replace what is in a checkout: lines, buyer, address, shipping.',
    z.object({ meta, id, checkout: contents }),
  ),
  tool(
    ['checkout', 'complete'],
    'complete_checkout',
    'Pay, and place the order.',
    z.object({ meta: keyedMeta, id, checkout: payment }),
  ),
  tool(['checkout', 'cancel'], 'cancel_checkout', 'Give a checkout up.', z.object({ meta: keyedMeta, id })),
];

export function toolsOf({ ways, checkout }: Pick<Shop, 'ways' | 'checkout'>): readonly Tool[] {
  return [...(ways.includes('ucp') ? catalogTools : []), ...(checkout === undefined ? [] : checkoutTools)];
}
