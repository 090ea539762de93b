import type { Price } from './price.ts';

/** A choice that makes a variant, such as the size L. */
export interface ProductOption {
  readonly name: string;
  readonly value: string;
}

/** One of the forms in which a product is sold. The shop's checkout knows it by its id. */
export interface Variant {
  readonly id: string;
  readonly title: string;
  readonly options: readonly ProductOption[];
  readonly price: Price;
  /** Unset when the merchant does not say. */
  readonly available: boolean | undefined;
}

/** The variants of a product, as far as the shop names them. */
interface Variants {
  /** A product that is sold in one form has one variant, or none if the product's own id is what the shop knows it by. */
  readonly variants: readonly Variant[];
  /** The shop sells the product in more forms than it has named. */
  readonly moreVariants: boolean;
}

/** A product as a shop describes it. The parser answers clean, short texts; the links in it are not believed yet. */
export interface Candidate extends Partial<Variants> {
  readonly title: string;
  readonly brand?: string | undefined;
  readonly price: Price | undefined;
  /** May be relative to the site. */
  readonly url?: string | undefined;
  readonly picture?: { readonly url: string; readonly alt?: string | undefined } | undefined;
  /** What the merchant calls it. */
  readonly id?: string | undefined;
  /** Unset when the merchant does not say. */
  readonly available?: boolean | undefined;
}

/** A product that may be shown: clean text, links that lead out to the web, and a price. */
export interface Product extends Variants {
  readonly title: string;
  readonly brand: string;
  readonly price: Price;
  readonly url: string;
  readonly picture: { readonly url: string; readonly alt: string } | undefined;
  readonly id: string | undefined;
  readonly available: boolean | undefined;
}

/** A product with a hundred variants would fill the answer; an order that needs one of the others is refused with all of them. */
const mostShownVariants = 20;

/** A product as the interface has it, with its variants where the buyer has to choose one. */
export function describeProduct(product: Product) {
  const { title, brand, price, url, variants, moreVariants } = product;
  const described = { title, brand, price: price.text, priceNum: priceNumber(price), url };
  if (!needsChoice(product)) return described;
  return {
    ...described,
    ...(variants.length > 0 && { variants: variants.slice(0, mostShownVariants).map(describeVariant) }),
    ...((moreVariants || variants.length > mostShownVariants) && { moreVariants: true }),
  };
}

export function describeVariant({ id, title, options, price, available }: Variant) {
  return {
    id,
    title,
    options: [...options],
    price: price.text,
    priceNum: priceNumber(price),
    available: available ?? null,
  };
}

/** Whether there is more than one thing that "buy this product" could mean. */
export function needsChoice({ variants, moreVariants }: Variants): boolean {
  return moreVariants || variants.length > 1;
}

/** The shortest decimal text of the amount, as a JSON number. */
export function priceNumber({ atomic, decimals }: Price): number {
  const digits = atomic.toString().padStart(decimals + 1, '0');
  return Number(`${digits.slice(0, digits.length - decimals)}.${digits.slice(digits.length - decimals)}`);
}
