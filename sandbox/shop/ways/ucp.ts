import { findInCatalog, picturePath, productPath, type ShopProduct, variantsOf } from '../catalog.ts';
import { json, type ShopReply } from '../message.ts';
import type { ShopRequest } from '../shop.ts';
import { fieldsOf, lookupCapability, readUcpPath, searchCapability, type UcpVersion } from '../ucp-versions.ts';

/** UCP's catalog over REST. Undefined for any other path. */
export function answerUcp(request: ShopRequest): ShopReply | undefined {
  const { version, rest = '' } = readUcpPath(request.url.pathname) ?? {};
  const [, name] = /^\/catalog\/(search|lookup|product)$/.exec(rest) ?? [];
  if (request.method !== 'POST' || version === undefined || name === undefined) return undefined;
  return json(readCatalog(name as CatalogVerb, request, version));
}

export type CatalogVerb = 'search' | 'lookup' | 'product';

/** A catalog request, over REST or MCP. */
export function readCatalog(
  verb: CatalogVerb,
  asked: Pick<ShopRequest, 'shop' | 'origin' | 'body'>,
  version: UcpVersion,
): object {
  return { search, lookup, product: findOne }[verb](asked, version);
}

type Asked = Parameters<typeof readCatalog>[1];

const ucpOf = (version: UcpVersion, capability: string) => ({
  version,
  status: 'success',
  capabilities: { [capability]: [{ version }] },
});

function search({ shop, origin, body }: Asked, version: UcpVersion): object {
  const { query, pagination } = fieldsOf(body);
  const limit = Number(fieldsOf(pagination)['limit'] ?? 10);
  const found = findInCatalog(shop.products, typeof query === 'string' ? query : '');
  const shown = found.slice(0, Math.min(50, Math.max(1, Number.isInteger(limit) ? limit : 10)));
  return {
    ucp: ucpOf(version, searchCapability),
    products: shown.map((product) => describe(product, origin)),
    pagination: { has_next_page: shown.length < found.length, total_count: found.length },
  };
}

const mostIds = 50;

/** Finds products and variants by id. Each variant names the id that matched, and unknown ids are reported. */
function lookup({ shop, origin, body }: Asked, version: UcpVersion): object {
  const { ids } = fieldsOf(body);
  const wanted = [...new Set((Array.isArray(ids) ? ids : []).slice(0, mostIds).map(String))];
  const found = shop.products.map((product) => {
    const { id, variants, ...rest } = describe(product, origin);
    const named = variants.map((variant, index) => ({
      ...variant,
      inputs: wanted.flatMap((input) => {
        if (input === variant.id) return [{ id: input, match: 'exact' }];
        return input === id && index === 0 ? [{ id: input, match: 'featured' }] : [];
      }),
    }));
    return { id, ...rest, variants: named.filter(({ inputs }) => inputs.length > 0) };
  });
  const products = found.filter(({ variants }) => variants.length > 0);
  const known = new Set(
    products.flatMap(({ variants }) => variants.flatMap(({ inputs }) => inputs.map(({ id }) => id))),
  );
  const messages = wanted
    .filter((id) => !known.has(id))
    .map((id) => ({ type: 'info', code: 'not_found', content: `There is no ${id}.` }));
  return { ucp: ucpOf(version, lookupCapability), products, ...(messages.length > 0 && { messages }) };
}

function findOne({ shop, origin, body }: Asked, version: UcpVersion): object {
  const { id } = fieldsOf(body);
  const product = shop.products
    .map((one) => describe(one, origin))
    .find((one) => one.id === id || one.variants.some((variant) => variant.id === id));
  if (product !== undefined) return { ucp: ucpOf(version, lookupCapability), product };
  const content = 'There is no such product.';
  return {
    ucp: { version, status: 'error' },
    messages: [{ type: 'error', code: 'not_found', content, severity: 'unrecoverable' }],
  };
}

function describe(product: ShopProduct, origin: string) {
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
