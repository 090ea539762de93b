import type { Price } from '../../../search/price.ts';
import type { Candidate, ProductOption, Variant } from '../../../search/product.ts';
import { variantsToRead } from '../../../search/reading/clean-candidate.ts';
import { type Fields, fieldsOf, listOf, textOf } from '../../fields.ts';
import type { Resolve } from './walk.ts';

/** One offer of a product. */
export interface ReadOffer {
  readonly price: Price | undefined;
  readonly value: number;
  readonly available: boolean | undefined;
  readonly url: string | undefined;
  readonly sku: string | undefined;
  readonly name: string | undefined;
  /** Name, size, colour and the like, as far as it says them: what offers of one thing have in common. */
  readonly form: string;
  /** Its price is the lowest of several, of which the others are not named. */
  readonly isRange: boolean;
  /** It stands for several offers, which may be of several forms. */
  readonly isSeveral: boolean;
}

/** An offer, and the product or variant that it is an offer of. */
interface Priced {
  readonly one: Fields;
  readonly offer: ReadOffer;
}

/**
 * The variants that belong together, by the product that stands for all of them. A group lists its variants, or its variants name
 * their group. A variant that is alone with its group on a page is what the page is about.
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

/** The variants of a product: those that it lists, or offers of it that name different articles. */
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
  /** The product's. */
  readonly currency: string | undefined;
  readonly name: string | undefined;
  readonly options: readonly ProductOption[];
}

/** The page's own currency: that of its first offer. Prices in different ones cannot be compared. */
export function currencyOf(offers: readonly ReadOffer[]): string | undefined {
  return offers.find(({ price }) => price !== undefined)?.price?.currency;
}

/** An article that is offered several times has its cheapest price, in stock if there is any. */
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
 * Offers of at most one article that are of different things: they say so, or there are several in one currency that no article
 * number holds together. Nothing tells which of them an order would get.
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

/** Offers without an article number that differ in their price: there is no telling which of them is meant. */
function haveSeveralPrices(offers: readonly ReadOffer[]): boolean {
  const byCurrency = new Map<string | undefined, Set<bigint | undefined>>();
  for (const { price } of offers) {
    const prices = byCurrency.get(price?.currency) ?? new Set();
    byCurrency.set(price?.currency, prices.add(price?.atomic));
  }
  return [...byCurrency.values()].some((prices) => prices.size > 1);
}

/** What schema.org has products vary by. */
const choices = { size: 'Size', color: 'Color', material: 'Material', pattern: 'Pattern' };

/** What an offer, or the thing that it offers, says of its form. */
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
