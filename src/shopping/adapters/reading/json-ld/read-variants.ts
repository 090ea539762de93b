import type { Price } from '../../../search/price.ts';
import type { Candidate, ProductOption, Variant } from '../../../search/product.ts';
import { variantsToRead } from '../../../search/reading/clean-candidate.ts';
import { type Fields, fieldsOf, listOf, textOf } from '../../fields.ts';
import type { Resolve } from './read-json-ld.ts';

export interface ReadOffer {
  readonly price: Price | undefined;
  readonly value: number;
  readonly available: boolean | undefined;
  readonly url: string | undefined;
  readonly sku: string | undefined;
  readonly name: string | undefined;
  /** Name, size, color and so on, as far as stated. Offers with the same form are for the same thing. */
  readonly form: string;
  /** The price is the lowest of a range whose other prices are not listed. */
  readonly isRange: boolean;
  /** It stands for several offers, possibly of several forms. */
  readonly isSeveral: boolean;
}

/** An offer and its product or variant. */
interface Priced {
  readonly one: Fields;
  readonly offer: ReadOffer;
}

/**
 * Groups variants under the product that represents them. Either the group lists its variants or the variants name their group. A
 * variant without siblings on the page is the page's product.
 */
export function groupVariants(products: readonly Fields[], resolve: Resolve): Map<Fields, Fields[]> {
  const groups = new Map<Fields, Fields[]>();
  for (const group of products) {
    const variants = listOf(group['hasVariant'], variantsToRead).map(resolve);
    if (variants.length > 0) groups.set(group, variants);
  }
  const listed = new Set([...groups.values()].flat());
  const siblings = new Map<string, Fields[]>();
  for (const product of products) {
    const group = listed.has(product) ? undefined : groupOf(product, resolve);
    if (group !== undefined) siblings.set(group, [...(siblings.get(group) ?? []), product]);
  }
  for (const [id, variants] of siblings) {
    const [first] = variants;
    const group = products.find((product) => textOf(product['productGroupID']) === id || textOf(product['@id']) === id);
    const key = group ?? first;
    if (key !== undefined && variants.length > 1) groups.set(key, [...(groups.get(key) ?? []), ...variants]);
  }
  return groups;
}

function groupOf(product: Fields, resolve: Resolve): string | undefined {
  const [named] = listOf(product['isVariantOf']);
  const group = resolve(named);
  return (
    textOf(product['inProductGroupWithID']) ??
    textOf(group['productGroupID']) ??
    textOf(fieldsOf(named)['@id']) ??
    textOf(named)
  );
}

/** The variants of a product: listed ones, or offers with different article numbers. */
export function readVariants(
  variants: readonly Fields[],
  priced: readonly Priced[],
): Required<Pick<Candidate, 'variants' | 'moreVariants'>> {
  const isRange = priced.some(({ offer }) => offer.isRange);
  const offers = priced.map(({ offer }) => offer);
  const currency = currencyOf(offers);
  if (variants.length > 0) {
    const read = variants.flatMap((one) => {
      const its = priced.filter((each) => each.one === one).map(({ offer }) => offer);
      const id = textOf(one['sku']) ?? textOf(one['productID']) ?? its[0]?.sku ?? textOf(one['mpn']);
      return readVariant(id, { offers: its, currency, name: textOf(one['name']), options: readOptions(one) });
    });
    return { variants: read, moreVariants: isRange || read.length < variants.length };
  }
  const articles = [...new Set(offers.flatMap(({ sku }) => sku ?? []))];
  if (articles.length < 2) {
    const [only] = priced;
    const id = articles[0] ?? textOf(only?.one['sku']);
    const moreVariants = isRange || haveSeveralForms(offers) || haveSeveralPrices(offers);
    return { variants: moreVariants ? [] : readVariant(id, { offers, currency, name: id, options: [] }), moreVariants };
  }
  const read = articles.flatMap((sku) => {
    const its = offers.filter((offer) => offer.sku === sku);
    if (haveSeveralForms(its)) return [];
    return readVariant(sku, {
      offers: its,
      currency,
      name: its.find(({ name }) => name !== undefined)?.name ?? sku,
      options: [],
    });
  });
  const isMore = isRange || offers.some(({ sku, isSeveral }) => sku === undefined || isSeveral);
  return { variants: read, moreVariants: isMore || read.length < articles.length };
}

interface Described {
  readonly offers: readonly ReadOffer[];
  /** The product's currency. */
  readonly currency: string | undefined;
  readonly name: string | undefined;
  readonly options: readonly ProductOption[];
}

/** The currency of the first offer. Prices in different currencies cannot be compared. */
export function currencyOf(offers: readonly ReadOffer[]): string | undefined {
  return offers.find(({ price }) => price !== undefined)?.price?.currency;
}

/** An article with several offers gets its cheapest price, preferably in stock. */
function readVariant(id: string | undefined, { offers, currency, name, options }: Described): Variant[] {
  const isSoldInIt = offers.some(({ price }) => price?.currency === currency);
  const compared = isSoldInIt ? currency : currencyOf(offers);
  const comparable = offers.filter(({ price }) => price?.currency === compared);
  const inStock = comparable.filter(({ available }) => available !== false);
  const [best] = (inStock.length > 0 ? inStock : comparable).toSorted((one, other) => one.value - other.value);
  if (id === undefined || best?.price === undefined) return [];
  return [{ id, title: name ?? '', options, price: best.price, available: best.available }];
}

/**
 * Whether offers without distinct article numbers are for different things: they state different forms, or several in one
 * currency share no article number. An order could not say which one it means.
 */
function haveSeveralForms(offers: readonly ReadOffer[]): boolean {
  const forms = new Set(offers.map(({ form }) => form).filter((form) => form !== ''));
  const numbered = new Set(offers.filter(({ sku }) => sku !== undefined).map(({ price }) => price?.currency));
  const bare = offers.filter(({ sku }) => sku === undefined).map(({ price }) => price?.currency);
  return (
    forms.size > 1 ||
    new Set(bare).size < bare.length ||
    bare.some((currency) => numbered.has(currency)) ||
    offers.some(({ isSeveral }) => isSeveral)
  );
}

/** Offers without an article number but with different prices: an order could not say which one it means. */
function haveSeveralPrices(offers: readonly ReadOffer[]): boolean {
  const byCurrency = new Map<string | undefined, Set<bigint | undefined>>();
  for (const { price } of offers) {
    const prices = byCurrency.get(price?.currency) ?? new Set();
    byCurrency.set(price?.currency, prices.add(price?.atomic));
  }
  return [...byCurrency.values()].some((prices) => prices.size > 1);
}

/** The variant properties of schema.org. */
const choices = { size: 'Size', color: 'Color', material: 'Material', pattern: 'Pattern' };

export function formOf(offer: Fields, item: Fields): string {
  const said = (one: Fields) => [textOf(one['name']), ...readOptions(one).map(({ name, value }) => `${name} ${value}`)];
  return [...said(offer), ...said(item)].filter(Boolean).join('; ').toLowerCase();
}

function readOptions(variant: Fields): ProductOption[] {
  return Object.entries(choices).flatMap(([field, name]) => {
    const value = textOf(variant[field]) ?? textOf(fieldsOf(variant[field])['name']);
    return value === undefined ? [] : [{ name, value }];
  });
}
