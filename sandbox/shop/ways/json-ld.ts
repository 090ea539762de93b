import { picturePath, productPath, type ShopProduct, variantsOf } from '../catalog.ts';
import type { Shop } from '../shop.ts';

/** The JSON-LD of the pages. The search page has no prices, like most shops'. */

export function describeSite(shop: Shop, origin: string): object {
  return {
    '@context': 'https://schema.org',
    '@type': 'WebSite',
    name: shop.name,
    url: `${origin}/`,
    potentialAction: {
      '@type': 'SearchAction',
      target: { '@type': 'EntryPoint', urlTemplate: `${origin}/search?q={search_term_string}` },
      'query-input': 'required name=search_term_string',
    },
  };
}

export function describeResults(products: readonly ShopProduct[], origin: string): object {
  return {
    '@context': 'https://schema.org',
    '@type': 'ItemList',
    itemListElement: products.map((product, index) => ({
      '@type': 'ListItem',
      position: index + 1,
      url: `${origin}${productPath(product)}`,
    })),
  };
}

export function describeProduct(product: ShopProduct, origin: string): object {
  const isGroup = product.sizes.length > 0;
  return {
    '@context': 'https://schema.org',
    '@type': isGroup ? 'ProductGroup' : 'Product',
    name: product.title,
    description: product.description,
    [isGroup ? 'productGroupID' : 'sku']: `DEMO-${product.id}`,
    brand: { '@type': 'Brand', name: product.maker },
    image: [`${origin}${picturePath(product)}`],
    url: `${origin}${productPath(product)}`,
    ...(isGroup
      ? {
          variesBy: ['https://schema.org/size'],
          hasVariant: variantsOf(product).map(({ itemId, size, title, cents }) => ({
            '@type': 'Product',
            sku: `DEMO-${itemId}`,
            name: title,
            size,
            offers: describeOffer({ ...product, cents }, origin),
          })),
        }
      : { offers: describeOffer(product, origin) }),
  };
}

function describeOffer(product: ShopProduct, origin: string): object {
  return {
    '@type': 'Offer',
    price: (product.cents / 100).toFixed(2),
    priceCurrency: product.currency,
    availability: `https://schema.org/${product.inStock ? 'InStock' : 'OutOfStock'}`,
    url: `${origin}${productPath(product)}`,
    shippingDetails: {
      '@type': 'OfferShippingDetails',
      shippingRate: {
        '@type': 'MonetaryAmount',
        value: (product.shippingCents / 100).toFixed(2),
        currency: product.currency,
      },
    },
  };
}
