import type { AnswerBytes } from '../../../parser/task.ts';
import { type Price, priceFromMinor, readCurrency } from '../../../shopping/price.ts';
import type { Candidate } from '../../../shopping/product.ts';
import { cleanCandidates } from '../../../shopping/reading/clean-candidate.ts';
import { readJson } from '../../../shopping/reading/read-answer.ts';
import { type Fields, fieldsOf, listOf, textOf } from '../fields.ts';

export interface StoreProducts {
  readonly count: number;
  /** Those that can be bought. */
  readonly products: readonly Candidate[];
}

const mostProducts = 10;

/** Undefined when it is no answer of the Store API: then that is at another place. */
export function readStoreProducts(answer: AnswerBytes): StoreProducts | undefined {
  const products = readJson(answer);
  // An empty list alone proves nothing, but it takes a server that answers this very address with a list.
  if (!Array.isArray(products)) return undefined;
  const found = listOf(products, mostProducts).map(fieldsOf);
  if (found.length > 0 && !found.some(({ prices }) => typeof prices === 'object')) return undefined;
  const buyable = found.filter((product) => product['is_purchasable'] !== false);
  return { count: found.length, products: cleanCandidates(buyable.map(readProduct)) };
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
    variantId: product['has_options'] === true ? undefined : textOf(product['id']),
    available: typeof product['is_in_stock'] === 'boolean' ? product['is_in_stock'] : undefined,
  };
}

/** As the shop's own settings write it. How many decimals there are is the shop's setting too, whatever the currency has. */
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
  // What would read as another amount than it is gets written as its currency usually is.
  if (decimals > 0 && gap === point) return price;
  const grouped = whole.replace(/\B(?=(?:\d{3})+$)/g, gap);
  const fraction = decimals > 0 ? `${point}${digits.slice(-decimals)}` : '';
  const text = `${matchOr(prices['currency_prefix'], signs, '')}${grouped}${fraction}${matchOr(prices['currency_suffix'], signs, '')}`;
  return /[^\d.,'’\s]/.test(text) ? { ...price, text } : price;
}

/** The sign before or after the amount, or within it, is the shop's own; but it must not pass for a part of the amount. */
function matchOr(value: unknown, form: RegExp, fallback: string): string {
  return typeof value === 'string' && form.test(value) ? value : fallback;
}
