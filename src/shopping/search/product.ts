import type { Price } from './price.ts';

/** One option of a variant, such as size L. */
export interface ProductOption {
  readonly name: string;
  readonly value: string;
}

/** One purchasable form of a product. The shop's checkout identifies it by its id. */
export interface Variant {
  readonly id: string;
  readonly title: string;
  readonly options: readonly ProductOption[];
  readonly price: Price;
  /** Undefined if the merchant does not say. */
  readonly available: boolean | undefined;
}

interface Variants {
  /** A product with one form has one variant, or none if the checkout takes the product's own id. */
  readonly variants: readonly Variant[];
  /** The shop sells more variants than it listed. */
  readonly moreVariants: boolean;
}

/** A product as the shop describes it. Its texts are clean and short; its links are not checked yet. */
export interface Candidate extends Partial<Variants> {
  readonly title: string;
  readonly brand?: string | undefined;
  readonly price: Price | undefined;
  /** May be relative to the site. */
  readonly url?: string | undefined;
  readonly picture?: { readonly url: string; readonly alt?: string | undefined } | undefined;
  /** The merchant's own id. */
  readonly id?: string | undefined;
  /** Undefined if the merchant does not say. */
  readonly available?: boolean | undefined;
}

/** A product that is safe to show: clean text, checked links and a price. */
export interface Product extends Variants {
  readonly title: string;
  readonly brand: string;
  readonly price: Price;
  readonly url: string;
  readonly picture: { readonly url: string; readonly alt: string } | undefined;
  readonly id: string | undefined;
  readonly available: boolean | undefined;
}

/** Keeps search results short. A purchase that leaves the variant open is refused with the full list. */
const mostShownVariants = 20;

/** The product as the API returns it, with variants if the buyer has to choose. */
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

/** Whether the buyer has to choose a variant. */
export function needsChoice({ variants, moreVariants }: Variants): boolean {
  return moreVariants || variants.length > 1;
}

export function priceNumber({ atomic, decimals }: Price): number {
  const digits = atomic.toString().padStart(decimals + 1, '0');
  return Number(`${digits.slice(0, digits.length - decimals)}.${digits.slice(digits.length - decimals)}`);
}
