import type { Outgoing } from '../../kernel/outgoing/outgoing.ts';
import { parseUrl } from '../../kernel/text/parse-url.ts';
import type { Price } from './price.ts';

const longestLink = 2_000;

/** Tracking parameters. */
const tracking = /^(?:utm_\w+|_pos|_psq|_ss|_sid|_v|_fid|_ga|_gl|fbclid|gclid|srsltid|mc_[ce]id|ref)$/;

interface LinkingParts {
  readonly outgoing: Pick<Outgoing, 'explainRefusal'>;
  /** The base of relative links. */
  readonly origin: string;
  /** The brand of products without one. */
  readonly siteName: string;
}

/** Checks the links of a candidate whose texts are already clean. Undefined if its link may not be shown. */
export function toProduct(candidate: Candidate, { outgoing, origin, siteName }: LinkingParts): Product | undefined {
  const { title, price, picture, id, available, variants = [], moreVariants = false } = candidate;
  const url = candidate.url === undefined ? `${origin}/` : cleanLink(candidate.url, { outgoing, origin });
  if (price === undefined || url === undefined) return undefined;
  const pictureUrl = picture && cleanLink(picture.url, { outgoing, origin });
  return {
    title,
    brand: candidate.brand ?? siteName,
    price,
    url,
    picture: pictureUrl === undefined ? undefined : { url: pictureUrl, alt: picture?.alt ?? title },
    id,
    variants,
    moreVariants,
    available,
  };
}

/** Accepts only a link that the address guard would open. */
function cleanLink(text: string, { outgoing, origin }: Pick<LinkingParts, 'outgoing' | 'origin'>): string | undefined {
  const url = parseUrl(text, origin);
  if (url === undefined || (url.protocol !== 'https:' && url.protocol !== 'http:')) return undefined;
  if (url.username !== '' || url.password !== '') return undefined;
  if (url.protocol === 'http:' && outgoing.explainRefusal(url.href) !== undefined) url.protocol = 'https:';
  for (const name of [...url.searchParams.keys()]) if (tracking.test(name)) url.searchParams.delete(name);
  url.hash = '';
  // Percent-encoding can make a link nine times longer.
  if (url.href.length > longestLink) return undefined;
  return outgoing.explainRefusal(url.href) === undefined ? url.href : undefined;
}

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
export interface Product extends Variants, Required<Omit<Candidate, keyof Variants>> {
  readonly brand: string;
  readonly price: Price;
  readonly url: string;
  readonly picture: { readonly url: string; readonly alt: string } | undefined;
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
