import type { AnswerBytes } from '../../../parser/task.ts';
import { priceFromText, readCurrency } from '../../../shopping/price.ts';
import type { Candidate } from '../../../shopping/product.ts';
import { cleanCandidates } from '../../../shopping/reading/clean-candidate.ts';
import { readJson } from '../../../shopping/reading/read-answer.ts';
import { type Fields, fieldsOf, listOf, textOf } from '../fields.ts';

export interface Suggestions {
  readonly count: number;
  /** Where the first of them is; its page may tell the currency. */
  readonly firstAddress: string | undefined;
  readonly products: readonly Candidate[];
}

const mostProducts = 10;
const longestAddress = 2_000;

/** Undefined when it is no answer of Shopify's search. */
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

function readProduct(product: Fields, currency: string | undefined): Candidate {
  const featured = fieldsOf(product['featured_image']);
  const picture = textOf(featured['url']) ?? textOf(product['image']);
  const [variant = {}] = listOf(product['variants']).map(fieldsOf);
  return {
    title: textOf(product['title']) ?? '',
    brand: textOf(product['vendor']),
    price: priceFromText(product['price'] ?? product['price_min'], currency),
    url: textOf(product['url']),
    picture: picture === undefined ? undefined : { url: picture, alt: textOf(featured['alt']) },
    id: textOf(product['id']),
    variantId: textOf(variant['id']),
    available: typeof product['available'] === 'boolean' ? product['available'] : undefined,
  };
}
