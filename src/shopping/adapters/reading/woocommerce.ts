import type { AnswerBytes } from '../../../kernel/parser/task.ts';
import { type Price, priceFromMinor, readCurrency } from '../../search/price.ts';
import type { Candidate, ProductOption, Variant } from '../../search/product.ts';
import { cleanCandidates, variantsToRead } from '../../search/reading/clean-candidate.ts';
import { cleanText } from '../../search/reading/clean-text.ts';
import { readJson } from '../../search/reading/read-answer.ts';
import { booleanOf, type Fields, fieldsOf, listOf, textOf } from '../fields.ts';

export interface StoreProducts {
  readonly count: number;
  /** Only purchasable products. */
  readonly products: readonly StoreProduct[];
}

export interface StoreProduct extends Candidate {
  /** Variations without prices; these need a second request. */
  readonly variations: readonly Variation[];
}

interface Variation {
  readonly id: string;
  readonly options: readonly ProductOption[];
}

const mostProducts = 10;
/** The Store API's limit per response. */
const mostVariations = 100;
const mostOptions = 10;
const longestOption = 80;

/** Undefined if the response is not from the Store API, so that another URL is tried. */
export function readStoreProducts(answer: AnswerBytes): StoreProducts | undefined {
  const list = readJson(answer);
  // An empty list is weak evidence, but only a Store API answers this path with a list.
  if (!Array.isArray(list)) return undefined;
  const found = listOf(list, mostProducts).map(fieldsOf);
  if (found.length > 0 && !found.some(({ prices }) => typeof prices === 'object')) return undefined;
  const buyable = found.filter((product) => product['is_purchasable'] !== false);
  const products = buyable.flatMap((product): StoreProduct[] => {
    const variations = readVariations(product);
    return cleanCandidates([readProduct(product)]).map((candidate) => ({ ...candidate, variations }));
  });
  return { count: found.length, products };
}

/** Adds the variants to the products. */
export function readStoreVariations({
  products,
  ...answer
}: AnswerBytes & { readonly products: readonly StoreProduct[] }): readonly Candidate[] | undefined {
  const list = readJson(answer);
  if (!Array.isArray(list)) return undefined;
  const byId = new Map(listOf(list, mostVariations).map((one) => [textOf(fieldsOf(one)['id']), fieldsOf(one)]));
  return products.flatMap(({ variations, ...product }) => {
    const variants = variations.flatMap(({ id, options }) => readVariant(byId.get(id), { id, options }));
    const moreVariants =
      product.moreVariants === true && (variants.length === 0 || variants.length < variations.length);
    return cleanCandidates([{ ...product, variants, moreVariants }]);
  });
}

function readVariant(variation: Fields | undefined, { id, options }: Variation): Variant[] {
  const price = variation && readPrice(fieldsOf(variation['prices']));
  if (variation === undefined || price === undefined || variation['is_purchasable'] === false) return [];
  // A variation with an open option cannot be ordered by itself.
  if (options.length === 0) return [];
  const title = options.map(({ value }) => value).join(' / ');
  return [{ id, title, options, price, available: booleanOf(variation['is_in_stock']) }];
}

/** Variations name option values by slug; the product's attributes hold the readable names. */
function readVariations(product: Fields): Variation[] {
  const names = new Map<string, string>();
  for (const attribute of listOf(product['attributes']).map(fieldsOf)) {
    for (const term of listOf(attribute['terms']).map(fieldsOf)) {
      const [attributeName, slug, name] = [textOf(attribute['name']), textOf(term['slug']), textOf(term['name'])];
      if (slug !== undefined && name !== undefined) names.set(`${attributeName} ${slug}`, name);
    }
  }
  return listOf(product['variations'], variantsToRead).flatMap((variation) => {
    const { id, attributes } = fieldsOf(variation);
    const choices = listOf(attributes, mostOptions).map(fieldsOf);
    const options = choices.flatMap((attribute) => {
      const [slug, name] = [textOf(attribute['value']), cleanText(attribute['name'], longestOption)];
      const value = cleanText(names.get(`${textOf(attribute['name'])} ${slug}`) ?? slug, longestOption);
      return name === undefined || value === undefined ? [] : [{ name, value }];
    });
    const key = cleanText(textOf(id), longestOption);
    return key === undefined ? [] : [{ id: key, options: options.length < choices.length ? [] : options }];
  });
}

function readProduct(product: Fields): Candidate {
  const [picture] = listOf(product['images']).map(fieldsOf);
  const [brand] = listOf(product['brands']).map(fieldsOf);
  return {
    title: textOf(product['name']) ?? '',
    brand: textOf(brand?.['name']),
    price: readPrice(fieldsOf(product['prices'])),
    url: textOf(product['permalink']),
    picture: picture && { url: textOf(picture['src']) ?? '', alt: textOf(picture['alt']) },
    id: textOf(product['id']),
    available: booleanOf(product['is_in_stock']),
    moreVariants: product['has_options'] === true,
  };
}

/** Formats the price with the shop's own settings, which also define the number of decimals. */
function readPrice(prices: Fields): Price | undefined {
  const decimals = prices['currency_minor_unit'];
  const currency = readCurrency(prices['currency_code']);
  const price = priceFromMinor(prices['price'], currency, typeof decimals === 'number' ? decimals : undefined);
  if (price === undefined || typeof decimals !== 'number') return price;
  const digits = String(prices['price']).padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals).replace(/^0+(?=\d)/, '');
  const point = matchOr(prices['currency_decimal_separator'], /^[.,]$/, '.');
  const gap = matchOr(prices['currency_thousand_separator'], /^[.,'’\p{Z}]?$/u, ',');
  const signs = /^[^\p{N}&<]{0,12}$/u;
  // Equal separators would be ambiguous, so use the currency's usual format.
  if (decimals > 0 && gap === point) return price;
  const grouped = whole.replace(/\B(?=(?:\d{3})+$)/g, gap);
  const fraction = decimals > 0 ? `${point}${digits.slice(-decimals)}` : '';
  const text = `${matchOr(prices['currency_prefix'], signs, '')}${grouped}${fraction}${matchOr(prices['currency_suffix'], signs, '')}`;
  return /[^\d.,'’\s]/.test(text) ? { ...price, text } : price;
}

/** The shop's symbols and separators are kept unless they could be read as part of the number. */
function matchOr(value: unknown, form: RegExp, fallback: string): string {
  return typeof value === 'string' && form.test(value) ? value : fallback;
}
