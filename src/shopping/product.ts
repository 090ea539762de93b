import type { Price } from './price.ts';

/** A product as a shop tells of it. What leaves the parser has clean, short texts; its links are not believed yet. */
export interface Candidate {
  readonly title: string;
  readonly brand?: string | undefined;
  readonly price: Price | undefined;
  /** May be relative to the site. */
  readonly url?: string | undefined;
  readonly picture?: { readonly url: string; readonly alt?: string | undefined } | undefined;
  /** What the merchant calls it. */
  readonly id?: string | undefined;
  /** Which of its kinds the price is for: this is what would be ordered. */
  readonly variantId?: string | undefined;
  /** Unset when the merchant does not say. */
  readonly available?: boolean | undefined;
}

/** A product that may be shown: clean text, links that lead out to the web, and a price. */
export interface Product {
  readonly title: string;
  readonly brand: string;
  readonly price: Price;
  readonly url: string;
  readonly picture: { readonly url: string; readonly alt: string } | undefined;
  readonly id: string | undefined;
  readonly variantId: string | undefined;
  readonly available: boolean | undefined;
}

/** A product as the interface has it, and no more. */
export function describeProduct({ title, brand, price, url }: Product) {
  return { title, brand, price: price.text, priceNum: priceNumber(price), url };
}

/** The shortest decimal text of the amount, as a JSON number. */
export function priceNumber({ atomic, decimals }: Price): number {
  const digits = atomic.toString().padStart(decimals + 1, '0');
  return Number(`${digits.slice(0, digits.length - decimals)}.${digits.slice(digits.length - decimals)}`);
}
