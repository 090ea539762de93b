import { picturePath, productPath, type ShopProduct, type ShopVariant, variantsOf } from '../catalog.ts';
import { json, type ShopReply } from '../message.ts';
import type { ShopRequest } from '../shop.ts';

const route = '/wc/store/v1/products';

/** WooCommerce's Store API with its real search: the whole phrase, in titles only, newest first. */
export function answerWooCommerce({ url, method, shop, origin }: ShopRequest): ShopReply | undefined {
  const plain = url.pathname === '/' ? url.searchParams.get('rest_route') : undefined;
  if (method !== 'GET' || (url.pathname !== `/wp-json${route}` && plain !== route)) return undefined;
  if (url.searchParams.get('type') === 'variation') return json(describeVariations(shop.products, { url, origin }));
  const phrase = url.searchParams.get('search')?.trim().toLowerCase();
  const perPage = Math.min(100, Math.max(1, Number(url.searchParams.get('per_page') ?? 10) || 10));
  // Without `search` it lists everything; an empty search finds nothing.
  const found = shop.products
    .filter(({ title }) => phrase === undefined || (phrase !== '' && title.toLowerCase().includes(phrase)))
    .reverse();
  return json(
    found.slice(0, perPage).map((product) => describe(product, origin)),
    { headers: { 'X-WP-Total': String(found.length), 'X-WP-TotalPages': String(Math.ceil(found.length / perPage)) } },
  );
}

/** Each size as a product of its own. */
function describeVariations(
  products: readonly ShopProduct[],
  { url, origin }: { readonly url: URL; readonly origin: string },
): object[] {
  const parents = new Set((url.searchParams.get('parent') ?? '').split(',').map(Number));
  return products
    .filter(({ id, sizes }) => parents.has(id) && sizes.length > 0)
    .flatMap((product) =>
      variantsOf(product).map((variant) => ({
        ...describe({ ...product, cents: variant.cents, sizes: [] }, origin),
        id: variationId(variant),
        parent: product.id,
        type: 'variation',
        variation: `Size: ${variant.size}`,
      })),
    );
}

const variationId = ({ itemId }: ShopVariant) => Number(itemId.replace('-', ''));

function describe(product: ShopProduct, origin: string): object {
  const euro = product.currency === 'EUR';
  const price = String(product.cents);
  const picture = `${origin}${picturePath(product)}`;
  return {
    id: product.id,
    name: product.title.replaceAll('&', '&amp;'),
    slug: product.slug,
    parent: 0,
    type: product.sizes.length > 0 ? 'variable' : 'simple',
    variation: '',
    permalink: `${origin}${productPath(product)}`,
    sku: `DEMO-${product.id}`,
    short_description: '',
    description: `<p>${product.description}</p>`,
    on_sale: false,
    prices: {
      price,
      regular_price: price,
      sale_price: price,
      price_range: null,
      currency_code: product.currency,
      currency_symbol: euro ? '€' : '$',
      currency_minor_unit: 2,
      currency_decimal_separator: euro ? ',' : '.',
      currency_thousand_separator: euro ? '.' : ',',
      currency_prefix: euro ? '' : '$',
      currency_suffix: euro ? ' €' : '',
    },
    average_rating: '0',
    review_count: 0,
    images: [
      {
        id: product.id,
        src: picture,
        thumbnail: picture,
        srcset: '',
        sizes: '',
        name: product.slug,
        alt: `A drawing of ${product.title}`,
      },
    ],
    categories: [{ id: 1, name: product.category, slug: product.category.toLowerCase(), link: `${origin}/` }],
    tags: [],
    brands: [{ id: 1, name: product.maker.replaceAll('&', '&amp;'), slug: 'maker', link: `${origin}/` }],
    attributes:
      product.sizes.length === 0
        ? []
        : [
            {
              id: 1,
              name: 'Size',
              taxonomy: 'pa_size',
              has_variations: true,
              terms: product.sizes.map(({ label }, index) => ({
                id: index + 1,
                name: label,
                slug: label.toLowerCase(),
              })),
            },
          ],
    variations:
      product.sizes.length === 0
        ? []
        : variantsOf(product).map((variant) => ({
            id: variationId(variant),
            attributes: [{ name: 'Size', value: variant.size?.toLowerCase() }],
          })),
    has_options: product.sizes.length > 0,
    is_purchasable: true,
    is_in_stock: product.inStock,
    is_on_backorder: false,
    low_stock_remaining: null,
    sold_individually: false,
  };
}
