import type { Price } from '../../../../shopping/price.ts';
import type { Candidate, ProductOption, Variant } from '../../../../shopping/product.ts';
import { variantsToRead } from '../../../../shopping/reading/clean-candidate.ts';
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
  /** Its price is the lowest of several, of which the others are not named. */
  readonly isRange: boolean;
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
  if (variants.length > 0) {
    const read = variants.flatMap((one) => {
      const offers = priced.filter((each) => each.one === one).map(({ offer }) => offer);
      const id = textOf(one['sku']) ?? textOf(one['productID']) ?? offers[0]?.sku ?? textOf(one['mpn']);
      return readVariant(id, { offers, name: textOf(one['name']), options: readOptions(one) });
    });
    return { variants: read, moreVariants: isRange || read.length < variants.length };
  }
  const offers = priced.map(({ offer }) => offer);
  const articles = [...new Set(offers.flatMap(({ sku }) => sku ?? []))];
  if (articles.length < 2) {
    const [only] = priced;
    const id = articles[0] ?? textOf(only?.one['sku']);
    const read = readVariant(id, { offers, name: id, options: [] });
    return {
      variants: isRange || haveSeveralPrices(offers) ? [] : read,
      moreVariants: isRange || haveSeveralPrices(offers),
    };
  }
  const read = articles.flatMap((sku) => {
    const its = offers.filter((offer) => offer.sku === sku);
    return readVariant(sku, {
      offers: its,
      name: its.find(({ name }) => name !== undefined)?.name ?? sku,
      options: [],
    });
  });
  return { variants: read, moreVariants: isRange || offers.some(({ sku }) => sku === undefined) };
}

interface Described {
  readonly offers: readonly ReadOffer[];
  readonly name: string | undefined;
  readonly options: readonly ProductOption[];
}

/** An article that is offered several times has its cheapest price, in stock if there is any. */
function readVariant(id: string | undefined, { offers, name, options }: Described): Variant[] {
  const inStock = offers.filter(({ available }) => available !== false);
  const [best] = (inStock.length > 0 ? inStock : offers).toSorted((one, other) => one.value - other.value);
  if (id === undefined || best?.price === undefined) return [];
  return [{ id, title: name ?? '', options, price: best.price, available: best.available }];
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

function readOptions(variant: Fields): ProductOption[] {
  return Object.entries(choices).flatMap(([field, name]) => {
    const value = textOf(variant[field]) ?? textOf(fieldsOf(variant[field])['name']);
    return value === undefined ? [] : [{ name, value }];
  });
}
