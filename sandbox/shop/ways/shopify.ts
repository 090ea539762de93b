import { findInCatalog, picturePath, productPath, type ShopProduct, variantsOf } from '../catalog.ts';
import { json, type ShopReply } from '../message.ts';
import type { ShopRequest } from '../shop.ts';

/** Shopify's search states no currency, so products in another one are left out. */
const currency = 'USD';

/** Predictive search as in Shopify's storefronts. */
export function answerShopify({ url, method, shop, origin }: ShopRequest): ShopReply | undefined {
  if (method !== 'GET') return undefined;
  if (url.pathname === '/cart.js') {
    return json({ token: 'demo', item_count: 0, items: [], total_price: 0, currency });
  }
  const product = shop.products.find((one) => `${productPath(one)}.js` === url.pathname);
  if (product !== undefined && product.currency === currency) return json(describeDocument(product));
  if (url.pathname !== '/search/suggest.json') return undefined;
  const query = url.searchParams.get('q') ?? '';
  if (query.trim() === '') {
    return json({ status: 422, message: 'Invalid parameter error', description: 'Query is required' }, { status: 422 });
  }
  const products = findInCatalog(shop.products, query)
    .filter((product) => product.currency === currency)
    .slice(0, 10)
    .map((product) => describe(product, { origin, query }));
  return json({ resources: { results: { products } } });
}

function describe(
  product: ShopProduct,
  { origin, query }: { readonly origin: string; readonly query: string },
): object {
  const price = (product.cents / 100).toFixed(2);
  const image = `${origin}${picturePath(product)}`;
  return {
    available: product.inStock,
    body: `<p>${product.description}</p>`,
    compare_at_price_max: '0.00',
    compare_at_price_min: '0.00',
    handle: product.slug,
    id: product.id,
    image,
    price,
    price_max: (Math.max(...variantsOf(product).map(({ cents }) => cents)) / 100).toFixed(2),
    price_min: price,
    tags: [product.category],
    title: product.title,
    type: product.category,
    url: `${productPath(product)}?_pos=1&_psq=${encodeURIComponent(query)}&_ss=e&_v=1.0`,
    variants: [],
    vendor: product.maker,
    featured_image: { alt: `A drawing of ${product.title}`, aspect_ratio: 1, height: 400, url: image, width: 400 },
  };
}

/** A product's document, which lists its variants. */
function describeDocument(product: ShopProduct): object {
  return {
    id: product.id,
    title: product.title,
    handle: product.slug,
    vendor: product.maker,
    available: product.inStock,
    options: [{ name: product.sizes.length > 0 ? 'Size' : 'Title', position: 1 }],
    variants: variantsOf(product).map(({ itemId, size = 'Default Title', cents }) => ({
      id: Number(itemId.replace('-', '')),
      title: size,
      options: [size],
      price: cents,
      available: product.inStock,
    })),
  };
}
