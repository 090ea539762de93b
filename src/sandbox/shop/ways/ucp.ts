import { findInCatalog, type ShopProduct, variantsOf } from '../catalog.ts';
import { json, type ShopReply } from '../message.ts';
import { picturePath, productPath } from '../product-links.ts';
import type { ShopRequest } from '../shop.ts';
import { fieldsOf, readUcpPath, searchCapability } from '../ucp-versions.ts';

/** UCP: catalog search over REST and MCP. Undefined for any other address. */
export function answerUcp(request: ShopRequest): ShopReply | undefined {
  const { version, rest } = readUcpPath(request.url.pathname) ?? {};
  if (request.method !== 'POST' || version === undefined) return undefined;
  if (rest === '/catalog/search') return json(search(request, version, request.body));
  if (rest === '/mcp') return answerMcp(request, version);
  return undefined;
}

function search({ shop, origin }: ShopRequest, version: string, asked: unknown): object {
  const { query, pagination } = fieldsOf(asked);
  const limit = Number(fieldsOf(pagination)['limit'] ?? 10);
  const found = findInCatalog(shop.products, typeof query === 'string' ? query : '');
  const shown = found.slice(0, Math.min(50, Math.max(1, Number.isInteger(limit) ? limit : 10)));
  return {
    ucp: { version, status: 'success', capabilities: { [searchCapability]: [{ version }] } },
    products: shown.map((product) => describe(product, origin)),
    pagination: { has_next_page: shown.length < found.length, total_count: found.length },
  };
}

function describe(product: ShopProduct, origin: string): object {
  const { currency, sizes } = product;
  const variants = variantsOf(product);
  const cents = variants.map((variant) => variant.cents);
  const description = { plain: product.description };
  const id = String(product.id);
  return {
    id,
    handle: product.slug,
    title: product.title,
    description,
    url: `${origin}${productPath(product)}`,
    categories: [{ value: product.category, taxonomy: 'merchant' }],
    price_range: {
      min: { amount: Math.min(...cents), currency },
      max: { amount: Math.max(...cents), currency },
    },
    media: [{ type: 'image', url: `${origin}${picturePath(product)}`, alt_text: `A drawing of ${product.title}` }],
    ...(sizes.length > 0 && { options: [{ name: 'Size', values: sizes.map(({ label }) => ({ id: label, label })) }] }),
    variants: variants.map(({ itemId, size, title, cents: amount }) => ({
      id: itemId,
      title: size ?? title,
      description,
      price: { amount, currency },
      availability: { available: product.inStock, status: product.inStock ? 'in_stock' : 'out_of_stock' },
      ...(size !== undefined && { options: [{ name: 'Size', label: size }] }),
    })),
    metadata: { brand: product.maker },
  };
}

function answerMcp(request: ShopRequest, version: string): ShopReply {
  const { id = null, method, params } = fieldsOf(request.body);
  const refuse = (code: number, message: string) => json({ jsonrpc: '2.0', id, error: { code, message } });
  if (method !== 'tools/call') return refuse(-32_601, 'only tools/call is offered');
  const { name, arguments: given } = fieldsOf(params);
  const { catalog, meta } = fieldsOf(given);
  if (name !== 'search_catalog') return refuse(-32_602, 'only search_catalog is offered');
  if (typeof fieldsOf(fieldsOf(meta)['ucp-agent'])['profile'] !== 'string')
    return refuse(-32_001, 'invalid_profile_url');
  return json({ jsonrpc: '2.0', id, result: { structuredContent: search(request, version, catalog) } });
}
