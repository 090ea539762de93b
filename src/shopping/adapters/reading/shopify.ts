import type { AnswerBytes } from '../../../kernel/parser/task.ts';
import { type Price, priceFromMinor, priceFromText, readCurrency } from '../../search/price.ts';
import type { Candidate, Variant } from '../../search/product.ts';
import { cleanCandidates, variantsToRead } from '../../search/reading/clean-candidate.ts';
import { readJson } from '../../search/reading/read-answer.ts';
import { booleanOf, type Fields, fieldsOf, listOf, textOf } from '../fields.ts';

export interface Suggestions {
  readonly count: number;
  /** The URL of the first product, whose page may state the currency. */
  readonly firstAddress: string | undefined;
  readonly products: readonly Candidate[];
}

const mostProducts = 10;
const longestAddress = 2_000;

/** Undefined if the response is not from Shopify's search. */
export function readSuggestions({
  currency,
  ...answer
}: AnswerBytes & { readonly currency: string | undefined }): Suggestions | undefined {
  const { products } = fieldsOf(fieldsOf(fieldsOf(readJson(answer))['resources'])['results']);
  if (!Array.isArray(products)) return undefined;
  const found = listOf(products, mostProducts).map(fieldsOf);
  const firstAddress = textOf(found[0]?.['url']);
  return {
    count: found.length,
    firstAddress: firstAddress !== undefined && firstAddress.length > longestAddress ? undefined : firstAddress,
    products: cleanCandidates(found.map((product) => readProduct(product, currency))),
  };
}

export function readCartCurrency(answer: AnswerBytes): string | undefined {
  return readCurrency(fieldsOf(readJson(answer))['currency']);
}

/** The search lists no variants, so `moreVariants` is set until the product's own document was read. */
function readProduct(product: Fields, currency: string | undefined): Candidate {
  const featured = fieldsOf(product['featured_image']);
  const picture = textOf(featured['url']) ?? textOf(product['image']);
  return {
    title: textOf(product['title']) ?? '',
    brand: textOf(product['vendor']),
    price: priceFromText(product['price'] ?? product['price_min'], currency),
    url: textOf(product['url']),
    picture: picture === undefined ? undefined : { url: picture, alt: textOf(featured['alt']) },
    id: textOf(product['id']),
    available: booleanOf(product['available']),
    moreVariants: true,
  };
}

/** Adds the variants from the product's own document. */
export function readShopifyVariants({
  product,
  ...answer
}: AnswerBytes & { readonly product: Candidate }): Candidate | undefined {
  const document = fieldsOf(readJson(answer));
  const named = listOf(document['variants'], variantsToRead).map(fieldsOf);
  const decimals = decimalsOf(named, product.price);
  if (textOf(document['id']) !== product.id || decimals === undefined) return undefined;
  const names = listOf(document['options']).map((option) => textOf(option) ?? textOf(fieldsOf(option)['name']) ?? '');
  const currency = product.price?.currency;
  const variants = named.flatMap((variant) => readVariant(variant, { names, currency, decimals }));
  return cleanCandidates([{ ...product, variants, moreVariants: variants.length < named.length }])[0];
}

interface Reading {
  /** The names of the options, in the order of a variant's values. */
  readonly names: readonly string[];
  readonly currency: string | undefined;
  readonly decimals: number;
}

function readVariant(variant: Fields, { names, currency, decimals }: Reading): Variant[] {
  const [id, price] = [textOf(variant['id']), priceFromMinor(variant['price'], currency, decimals)];
  if (id === undefined || price === undefined) return [];
  const title = textOf(variant['title']) ?? '';
  // The title of the only variant of a product without options.
  const chosen = title === 'Default Title' ? [] : listOf(variant['options']);
  const options = chosen.flatMap((option, index) => {
    const value = textOf(option);
    return value === undefined ? [] : [{ name: names[index] ?? 'Option', value }];
  });
  return [{ id, title, options, price, available: booleanOf(variant['available']) }];
}

/**
 * The document gives prices in hundredths, but for some currencies in whole units or thousandths. The search result states the
 * cheapest price in full, so comparing the two gives the scale.
 */
function decimalsOf(variants: readonly Fields[], cheapest: Price | undefined): number | undefined {
  const prices = variants.map(({ price }) => price).filter((price) => Number.isSafeInteger(price));
  if (cheapest === undefined || prices.length === 0) return undefined;
  const least = BigInt(Math.min(...prices.map(Number)));
  return [2, 0, 3].find(
    (decimals) => least * 10n ** BigInt(cheapest.decimals) === cheapest.atomic * 10n ** BigInt(decimals),
  );
}
