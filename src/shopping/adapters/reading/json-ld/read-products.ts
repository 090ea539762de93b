import { priceFromText, readCurrency } from '../../../search/price.ts';
import type { Candidate } from '../../../search/product.ts';
import { type Fields, fieldsOf, listOf, textOf } from '../../fields.ts';
import { createResolver, hasType, type Resolve, walkJsonLd } from './read-json-ld.ts';
import { currencyOf, formOf, groupVariants, type ReadOffer, readVariants } from './read-variants.ts';

/** Per page. References can repeat one offer thousands of times even in a short page. */
const mostOffers = 1_000;

interface Reading {
  readonly resolve: Resolve;
  readonly pageCurrency: string | undefined;
  offersLeft: number;
}

const productTypes = ['Product', 'ProductGroup', 'IndividualProduct', 'ProductModel', 'Book'];

export function readProducts(documents: readonly unknown[], pageCurrency?: string): readonly Candidate[] {
  const nodes = walkJsonLd(documents);
  const resolve = createResolver(nodes);
  const reading: Reading = { resolve, pageCurrency: readCurrency(pageCurrency), offersLeft: mostOffers };
  const products = nodes.filter((node) => hasType(node, productTypes));
  const groups = groupVariants(products, resolve);
  // A variant is described as part of its group.
  const inside = new Set([...groups].flatMap(([group, variants]) => variants.filter((one) => one !== group)));
  return products.filter((node) => !inside.has(node)).map((node) => readProduct(node, groups.get(node) ?? [], reading));
}

function readProduct(node: Fields, variants: readonly Fields[], reading: Reading): Candidate {
  const { resolve } = reading;
  const nodes = [...new Set([node, ...variants])];
  const priced = nodes.flatMap((one) => readOffers(one, reading).map((offer) => ({ one, offer })));
  const currency = currencyOf(priced.map(({ offer }) => offer));
  // The cheapest offer in stock, as shops themselves show variants.
  const comparable = priced.filter(({ offer }) => offer.price?.currency === currency);
  const [best] = comparable.toSorted(
    (a, b) =>
      Number(a.offer.available === false) - Number(b.offer.available === false) ||
      Number(a.offer.value) - Number(b.offer.value),
  );
  return {
    title: textOf(node['name']) ?? textOf(best?.one['name']) ?? '',
    brand: readBrand(node['brand'], resolve) ?? readBrand(variants[0]?.['brand'], resolve),
    price: best?.offer.price,
    url: textOf(best?.one['url']) ?? textOf(node['url']) ?? best?.offer.url,
    picture: readPicture(node['image'], resolve) ?? readPicture(best?.one['image'], resolve),
    id: textOf(node['productGroupID']) ?? textOf(node['productID']) ?? textOf(node['sku']) ?? textOf(node['@id']),
    available: best?.offer.available,
    ...readVariants(variants, priced),
  };
}

function readOffers(product: Fields, reading: Reading): ReadOffer[] {
  const { resolve, pageCurrency } = reading;
  return [...new Set(listOf(product['offers'], Math.min(50, reading.offersLeft)).map(resolve))].flatMap((offer) => {
    if (reading.offersLeft <= 0) return [];
    reading.offersLeft--;
    const inner = listOf(offer['offers'], Math.min(50, reading.offersLeft)).map(resolve);
    reading.offersLeft -= inner.length;
    const currency = readCurrency(offer['priceCurrency']) ?? pageCurrency;
    const own = readOffer(offer, { resolve, currency });
    if (own.price !== undefined && inner.length === 0) return [own];
    const each = [...new Set(inner)]
      .map((one) => readOffer(one, { resolve, currency }))
      .filter(({ price }) => price !== undefined);
    const isSeveral = countOf(offer) > inner.length;
    // An aggregate adds nothing to the offers that it lists one by one.
    return each.length > 0
      ? each.map((one) => ({ ...one, isSeveral: one.isSeveral || isSeveral }))
      : [own].filter(({ price }) => price !== undefined);
  });
}

function readOffer(
  offer: Fields,
  { resolve, currency }: { resolve: Resolve; currency: string | undefined },
): ReadOffer {
  // A list price is the former price.
  const specifications = listOf(offer['priceSpecification'], 20)
    .map(resolve)
    .filter(({ priceType }) => !/(?:ListPrice|SRP|StrikethroughPrice|MSRP)$/.test(textOf(priceType) ?? ''));
  const places = [offer, ...specifications];
  const asked = places.find(({ price, lowPrice }) => price !== undefined || lowPrice !== undefined) ?? {};
  const code =
    readCurrency(asked['priceCurrency']) ??
    readCurrency(offer['priceCurrency']) ??
    specifications.map(({ priceCurrency }) => readCurrency(priceCurrency)).find(Boolean) ??
    currency;
  const price = priceFromText(asked['price'] ?? asked['lowPrice'], code);
  const high = priceFromText(asked['highPrice'], code);
  const item = resolve(offer['itemOffered']);
  return {
    price,
    value: price === undefined ? Number.POSITIVE_INFINITY : Number(price.atomic) / 10 ** price.decimals,
    available: readAvailability(offer['availability']),
    url: textOf(offer['url']),
    sku: textOf(offer['sku']) ?? textOf(item['sku']),
    name: textOf(item['name']) ?? textOf(offer['name']),
    form: formOf(offer, item),
    isSeveral: countOf(offer) > 1 || (asked['price'] === undefined && high === undefined && countOf(offer) !== 1),
    isRange: asked['price'] === undefined && high !== undefined && high.atomic !== price?.atomic,
  };
}

/** The number of offers that an aggregate claims; 0 if it does not say. */
function countOf({ offerCount }: Fields): number {
  const count = Number(textOf(offerCount));
  return Number.isFinite(count) ? count : 0;
}

function readAvailability(value: unknown): boolean | undefined {
  const name = (textOf(value) ?? textOf(fieldsOf(value)['@id']) ?? '').replace(/^.*[/:#]/, '');
  if (/^(?:InStock|LimitedAvailability|OnlineOnly|PreOrder|PreSale|BackOrder|MadeToOrder)$/i.test(name)) return true;
  return /^(?:OutOfStock|SoldOut|Discontinued|InStoreOnly)$/i.test(name) ? false : undefined;
}

function readBrand(value: unknown, resolve: Resolve): string | undefined {
  const [first] = listOf(value);
  return typeof first === 'string' ? textOf(first) : textOf(resolve(first)['name']);
}

function readPicture(value: unknown, resolve: Resolve): Candidate['picture'] {
  const [first] = listOf(value);
  if (typeof first === 'string') return { url: first };
  const image = resolve(first);
  const url = [image['contentUrl'], image['url'], image['@id']].map(textOf).find((text) => text !== undefined);
  return url === undefined ? undefined : { url, alt: textOf(image['caption']) ?? textOf(image['name']) };
}
