import { parseUrl } from '../../kernel/text/parse-url.ts';
import { describeProduct, needsChoice, type Product, type Variant } from '../search/product.ts';
import { rankProducts } from '../search/rank.ts';
import type { MerchantSearch } from '../search/search-merchant.ts';
import type { Website } from '../search/website.ts';
import { chooseVariant, variantsOf, type WantedVariant } from './choose-variant.ts';
import { orderErrors } from './errors.ts';
import { isSame, isSequence, plain, titleWords, withoutWords } from './title-words.ts';

interface Shopping {
  readonly website: Website;
  readonly wanted: WantedProduct;
  readonly platform?: string;
}

const longestQuery = 200;

/** Searches the shop now and chooses the product and variant. */
export async function productOrRefuse(merchants: MerchantSearch, shopping: Shopping): Promise<OrderedProduct> {
  const { wanted } = shopping;
  const found = await searchFor(merchants, shopping, wanted.title);
  if (!fitsAny(found, wanted)) {
    // Shops match every word against product titles, which may not contain the variant's name.
    const shorter = withoutLastWord(wanted.title);
    const more = shorter === undefined ? [] : await searchFor(merchants, shopping, shorter);
    const known = new Set(found.map(nameOf));
    found.push(...more.filter((product) => !known.has(nameOf(product))));
  }
  return chooseProduct(found, wanted);
}

async function searchFor(merchants: MerchantSearch, { website, platform }: Shopping, words: string) {
  const found: Product[] = [];
  const query = words.slice(0, longestQuery);
  const search = merchants.search(website, query, new AbortController().signal, { onlyBy: platform });
  for await (const product of search) found.push(product);
  return found;
}

function nameOf({ id, url }: Product): string {
  return id ?? url;
}

function withoutLastWord(title: string): string | undefined {
  const words = title.trim().split(/\s+/);
  return words.length < 2 ? undefined : words.slice(0, -1).join(' ');
}

export interface WantedProduct extends WantedVariant {
  readonly title: string;
  readonly brand: string | undefined;
}

/** A product that the shop's checkout can identify. */
export interface OrderedProduct {
  readonly title: string;
  readonly brand: string;
  readonly url: string;
  /** The id that the shop's checkout uses. */
  readonly itemId: string;
  readonly price: Product['price'];
  /** Null if the product has only one form. */
  readonly variant: Pick<Variant, 'title' | 'options'> | null;
}

const mostListed = 4;

/** A title such as "Linen Shirt L" can name both the product and the variant. */
interface Meant {
  readonly product: Product;
  /** The variants that match; undefined if the title does not name a variant. */
  readonly variants: readonly Variant[] | undefined;
}

/**
 * Finds the one product and variant that the request can mean. Case, punctuation and word order are ignored while only one
 * product matches. If several match, the error lists them.
 */
export function chooseProduct(found: readonly Product[], wanted: WantedProduct): OrderedProduct {
  const { product, variants } = chooseByTitle(found, wanted);
  return toOrdered(product, chooseVariant(product, variants, wanted));
}

/** Whether any title matches. If not, the caller searches the shop again with fewer words. */
function fitsAny(found: readonly Product[], wanted: WantedProduct): boolean {
  return byTitle(found, wanted).length > 0;
}

function chooseByTitle(found: readonly Product[], wanted: WantedProduct): Meant {
  const titled = byTitle(found, wanted);
  const branded = titled.filter(({ product }) => wanted.brand === undefined || isNamed(product.brand, wanted.brand));
  const fitting = branded.filter(({ product }) => wanted.url === undefined || sameAddress(product.url, wanted.url));
  const distinct = new Map(fitting.map((one) => [whatIsSold(one.product), one]));
  const [meant] = distinct.values();
  if (meant === undefined) throw notFound(found, { titled, branded, wanted });
  if (distinct.size === 1) return meant;
  const products = [...distinct.values()].slice(0, mostListed).map(({ product }) => describeProduct(product));
  throw orderErrors.product_ambiguous(
    'The shop has several products with this title and brand: `products` lists them. Also send the productUrl of one of them. Nothing was charged.',
    { members: { products, productUrls: fitting.map(({ product }) => product.url) } },
  );
}

/** Tries the strictest reading first: the exact title, then its words in any order, then its words plus those of a variant. */
function byTitle(found: readonly Product[], { title }: WantedProduct): Meant[] {
  const text = plain(title);
  const asItIs = found.filter((product) => plain(product.title) === text);
  if (asItIs.length > 0) return asItIs.map(meantAsAWhole);
  const words = titleWords(title);
  const titled = found.map((product) => ({ product, own: titleWords(product.title) }));
  const inAnyOrder = titled.filter(({ own }) => isSame(own, words));
  if (inAnyOrder.length > 0) return inAnyOrder.map(({ product }) => meantAsAWhole(product));
  const within = titled.flatMap(({ product, own }) => {
    const rest = own.length === 0 ? undefined : withoutWords(words, own);
    return rest === undefined ? [] : [{ product, own, rest }];
  });
  // Prefer products that share more words with the title, because many products can share one word.
  const likely = within.sort((one, other) => other.own.length - one.own.length).slice(0, mostListed);
  return likely.flatMap(({ product, rest }) => {
    // Some variant titles repeat the product's title.
    const whole = product.variants.filter((variant) => isSequence(titleWords(variant.title), words));
    const variants = whole.length > 0 ? whole : variantsOf(product, rest.join(' '));
    return variants.length > 0 ? [{ product, variants }] : [];
  });
}

function meantAsAWhole(product: Product): Meant {
  return { product, variants: undefined };
}

function isNamed(brand: string, asked: string): boolean {
  return plain(brand) === plain(asked) || isSame(titleWords(brand), titleWords(asked));
}

/** Search can return one product twice, but two products can share a title or an id. */
function whatIsSold({ id, url, price, variants }: Product): string {
  return JSON.stringify([id, url, price.text, variants.map((variant) => [variant.id, variant.price.text])]);
}

function toOrdered(product: Product, variant: Variant | undefined): OrderedProduct {
  const itemId = variant?.id ?? product.id;
  if (itemId === undefined)
    throw orderErrors.product_not_found(
      'The shop gives no identifier for this product, so it cannot be ordered here. Buy it on the shop’s website.',
    );
  if ((variant ?? product).available === false) throw orderErrors.sold_out();
  const { title, brand, url } = product;
  const isChoice = variant !== undefined && (needsChoice(product) || variant.options.length > 0);
  return {
    title,
    brand,
    url,
    itemId,
    price: (variant ?? product).price,
    variant: isChoice ? { title: variant.title, options: variant.options } : null,
  };
}

function notFound(
  found: readonly Product[],
  { titled, branded, wanted }: Record<'titled' | 'branded', readonly Meant[]> & { readonly wanted: WantedProduct },
) {
  const near = titled.length > 0 ? titled.map(({ product }) => product) : rankProducts(wanted.title, found);
  const members = { closest: near.slice(0, mostListed).map(describeProduct) };
  return orderErrors.product_not_found(explain(), { members });

  function explain(): string | undefined {
    if (branded.length > 0)
      return 'The product with this title and brand has another URL than productUrl. Send the URL that the search returns.';
    const brands = [...new Set(titled.map(({ product }) => product.brand))].slice(0, mostListed);
    if (brands.length > 0) return `The shop has a product with this title, but the brand is ${brands.join(', ')}.`;
    return found.length === 0
      ? 'The shop’s search finds nothing for this title. Search the shop, and send title and brand as returned.'
      : undefined;
  }
}

function sameAddress(left: string, right: string): boolean {
  const [one, other] = [parseUrl(left), parseUrl(right)];
  return one !== undefined && other !== undefined && one.host === other.host && one.pathname === other.pathname;
}
