import type { MerchantPlatform } from '../../../shopping/merchant-platform.ts';
import { MerchantTrouble } from '../../../shopping/merchant-trouble.ts';
import { priceFromMinor, readCurrency } from '../../../shopping/price.ts';
import type { Candidate } from '../../../shopping/product.ts';
import { type Fields, fieldsOf, listOf, textOf } from '../fields.ts';
import { withBrand } from '../shop-name.ts';
import { discoverCatalog } from './discover.ts';
import { searchCatalog } from './search-catalog.ts';

/** The Universal Commerce Protocol, which Shopify's shops speak as well. */
export const ucpPlatform: MerchantPlatform = {
  name: 'ucp',
  // Shopify's terms for its catalog, and who else is behind an endpoint is not to be seen.
  keepsNothing: true,
  async *search(site, query) {
    let last: unknown;
    for (const service of await discoverCatalog(site)) {
      try {
        const products = await searchCatalog(site, service, query);
        for (const product of products) yield* withBrand(site, readProduct(product));
        return;
      } catch (error) {
        // A shop whose one transport does not work may have another that does.
        if (!(error instanceof MerchantTrouble) || error.kind !== 'not_offered') throw error;
        last = error;
      }
    }
    throw last;
  },
};

/** The first variant is the one that the shop shows. The protocol has no brand; shops put it where they like. */
function readProduct(product: Fields): Candidate {
  const [variant = {}] = listOf(product['variants']).map(fieldsOf);
  const metadata = { ...fieldsOf(product['metadata']), ...fieldsOf(variant['metadata']) };
  const amount = priced(variant['price']) ?? priced(fieldsOf(product['price_range'])['min']);
  const [picture] = [...listOf(product['media']), ...listOf(variant['media'])]
    .map(fieldsOf)
    .filter(({ type, url }) => (type === undefined || type === 'image') && textOf(url) !== undefined);
  const availability = fieldsOf(variant['availability']);
  const handle = textOf(product['handle']);
  return {
    title: textOf(product['title']) ?? '',
    brand: textOf(metadata['brand']) ?? textOf(metadata['vendor']) ?? textOf(fieldsOf(variant['seller'])['name']),
    price: amount,
    url:
      textOf(product['url']) ??
      textOf(variant['url']) ??
      // Where Shopify, which leaves the address out for some, has its products.
      (handle === undefined ? undefined : `/products/${encodeURIComponent(handle.toWellFormed())}`),
    picture: picture && { url: textOf(picture['url']) ?? '', alt: textOf(picture['alt_text']) },
    id: textOf(product['id']),
    variantId: textOf(variant['id']),
    available: typeof availability['available'] === 'boolean' ? availability['available'] : undefined,
  };
}

function priced(value: unknown) {
  const { amount, currency } = fieldsOf(value);
  return priceFromMinor(amount, readCurrency(currency));
}
