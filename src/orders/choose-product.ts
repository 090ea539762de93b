import { parseUrl } from '../parse-url.ts';
import { describeProduct, describeVariant, needsChoice, type Product, type Variant } from '../shopping/product.ts';
import { rankProducts } from '../shopping/rank.ts';
import { orderErrors } from './errors.ts';

export interface WantedProduct {
  readonly title: string;
  readonly brand: string | undefined;
  readonly url: string | undefined;
  /** The id or the title of a variant. */
  readonly variant: string | undefined;
}

/** A product that can be named to the shop. */
export interface OrderedProduct {
  readonly title: string;
  readonly brand: string;
  readonly url: string;
  /** What the shop's checkout knows it by. */
  readonly itemId: string;
  readonly price: Product['price'];
  /** Null for a product that is sold in one form only. */
  readonly variant: Pick<Variant, 'title' | 'options'> | null;
}

const mostListed = 4;

/** Of a title that has the variant in it, such as "Linen Shirt L", both are meant. */
interface Meant {
  readonly product: Product;
  /** Those variants that fit; undefined when the title says nothing about the variant. */
  readonly variants: readonly Variant[] | undefined;
}

/**
 * The one product and variant that the words can mean. Case, punctuation and the order of words make no difference as long as one
 * product fits. Where several fit none is chosen: the refusal lists them.
 */
export function chooseProduct(found: readonly Product[], wanted: WantedProduct): OrderedProduct {
  const { product, variants } = chooseByTitle(found, wanted);
  return toOrdered(product, chooseVariant(product, variants, wanted));
}

/** Whether the choice is made, or the shop might be asked in other words. */
export function fitsAny(found: readonly Product[], wanted: WantedProduct): boolean {
  return byTitle(found, wanted).length > 0;
}

function chooseByTitle(found: readonly Product[], wanted: WantedProduct): Meant {
  const titled = byTitle(found, wanted);
  const branded = titled.filter(({ product }) => wanted.brand === undefined || sameWords(product.brand, wanted.brand));
  const fitting = branded.filter(({ product }) => wanted.url === undefined || sameAddress(product.url, wanted.url));
  const distinct = new Map(fitting.map((one) => [one.product.id ?? one.product.url, one]));
  const [meant] = distinct.values();
  if (meant === undefined) throw notFound({ found, titled, branded, wanted });
  if (distinct.size === 1) return meant;
  const products = [...distinct.values()].slice(0, mostListed).map(({ product }) => describeProduct(product));
  throw orderErrors.product_ambiguous(
    'The shop has several products of this title and brand: `products` lists them. Send the productUrl of one of them too.',
    { members: { products, productUrls: fitting.map(({ product }) => product.url) } },
  );
}

/** The strictest reading that fits anything: the title as it is, its words in any order, its words and a variant's. */
function byTitle(found: readonly Product[], { title }: WantedProduct): Meant[] {
  const asItIs = found.filter((product) => plain(product.title) === plain(title));
  if (asItIs.length > 0) return asItIs.map(meantAsAWhole);
  const inAnyOrder = found.filter((product) => sameWords(product.title, title));
  if (inAnyOrder.length > 0) return inAnyOrder.map(meantAsAWhole);
  return found.flatMap((product) => {
    const rest = withoutWords(title, product.title);
    const own = product.variants.filter((variant) => sameWords(variant.title, title));
    const variants = own.length > 0 || rest === undefined ? own : variantsOf(product, rest);
    return variants.length > 0 ? [{ product, variants }] : [];
  });
}

function meantAsAWhole(product: Product): Meant {
  return { product, variants: undefined };
}

function chooseVariant(
  product: Product,
  titled: readonly Variant[] | undefined,
  wanted: WantedProduct,
): Variant | undefined {
  if (!needsChoice(product)) {
    const [only] = product.variants;
    if (wanted.variant === undefined || isOnlyVariant(product, wanted.variant)) return only;
    throw orderErrors.product_not_found(
      `The shop sells "${product.title}" in one form only. Leave out productVariant.`,
    );
  }
  const inUrl = variantIn(wanted.url);
  const readings = [
    titled,
    wanted.variant === undefined ? undefined : variantsOf(product, wanted.variant),
    inUrl === undefined ? undefined : product.variants.filter(({ id }) => lastPart(id) === inUrl),
  ].filter((reading) => reading !== undefined);
  // Title, productVariant and productUrl may each name a variant. They have to agree.
  const fitting =
    readings.length === 0 ? [] : product.variants.filter((variant) => readings.every((each) => each.includes(variant)));
  const [variant] = fitting;
  if (variant !== undefined && fitting.length === 1) return variant;
  throw ambiguousVariant(product, { fitting, asked: wanted.variant });
}

/**
 * By its id, by its title, or by choices that only one variant has. Whole choices are compared: "Red" is not "Dark Red". Where the shop
 * has not named all of its variants, one of the others may fit as well, so all choices have to be named.
 */
function variantsOf({ variants, moreVariants }: Product, asked: string): readonly Variant[] {
  const byId = variants.filter(({ id }) => id === asked);
  if (byId.length > 0) return byId;
  const byName = variants.filter(
    ({ title, options }) => sameWords(title, asked) || sameWords(options.map(({ value }) => value).join(' '), asked),
  );
  if (byName.length > 0 || moreVariants) return byName;
  return variants.filter(({ options }) => isMadeOf(asked, options));
}

/** Whether the words are nothing but choices of this variant, with or without the name of each choice. */
function isMadeOf(asked: string, options: Variant['options']): boolean {
  const rest = options.reduce(
    (words, { name, value }) => withoutWords(words, `${name} ${value}`) ?? withoutWords(words, value) ?? words,
    asked,
  );
  return titleWords(rest).length === 0;
}

function isOnlyVariant(product: Product, asked: string): boolean {
  const [only] = product.variants;
  return only === undefined ? asked === product.id : variantsOf(product, asked).length === 1;
}

function toOrdered(product: Product, variant: Variant | undefined): OrderedProduct {
  const itemId = variant?.id ?? product.id;
  if (itemId === undefined) throw orderErrors.product_not_found('The shop does not say what it calls this product.');
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

function ambiguousVariant(
  product: Product,
  { fitting, asked }: { readonly fitting: readonly Variant[]; readonly asked: string | undefined },
) {
  const { variants, moreVariants, title } = product;
  const listed = (fitting.length > 0 ? fitting : variants).map(describeVariant);
  const members = { variants: listed, ...(moreVariants && { moreVariants }), productUrl: product.url };
  if (variants.length === 0) {
    const detail = `The shop does not say in which variants it sells "${title}", so none can be ordered from here. Nothing was charged.`;
    return orderErrors.product_ambiguous(detail, { members });
  }
  const why =
    asked === undefined
      ? `The shop sells "${title}" in several variants.`
      : fitting.length === 0
        ? `No variant of "${title}" is called "${asked}".`
        : `Several variants of "${title}" fit "${asked}".`;
  const todo = '`variants` lists them with their prices: send the id or the title of one as productVariant.';
  return orderErrors.product_ambiguous(`${why} ${todo} Nothing was charged.`, { members });
}

interface NotFound {
  readonly found: readonly Product[];
  readonly titled: readonly Meant[];
  readonly branded: readonly Meant[];
  readonly wanted: WantedProduct;
}

function notFound({ found, titled, branded, wanted }: NotFound) {
  const near = titled.length > 0 ? titled.map(({ product }) => product) : rankProducts(wanted.title, found);
  const members = { closest: near.slice(0, mostListed).map(describeProduct) };
  return orderErrors.product_not_found(explain(), { members });

  function explain(): string | undefined {
    if (branded.length > 0) return 'The product of this title and brand is at another address than productUrl.';
    const brands = [...new Set(titled.map(({ product }) => product.brand))].slice(0, mostListed);
    if (brands.length > 0) return `The shop has a product of this title, but by ${brands.join(', ')}.`;
    return found.length === 0
      ? 'The shop finds nothing by this title. Search it, and send title and brand as they are found.'
      : undefined;
  }
}

/** Capitals, spaces and the kind of an apostrophe are no difference. */
function plain(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[‘’ʼ`´]/g, "'")
    .replace(/[“”„]/g, '"')
    .replace(/[‐-―]/g, '-')
    .replace(/\s+/g, ' ')
    .trim();
}

/**
 * What is left of a text without case, accents and punctuation. Numbers keep what holds them together, because 1.5 is not 5.1, and
 * names keep the signs that make them: C++ is not C#.
 */
function titleWords(text: string): string[] {
  const bare = text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/['‘’ʼ`´]/g, '');
  return bare.match(/\p{N}+(?:[.,:/×x-]\p{N}+)*[\p{L}%°″"+#]*|\p{L}[\p{L}\p{N}]*[+#]*/gu) ?? [];
}

function sameWords(left: string, right: string): boolean {
  const rest = withoutWords(left, right);
  if (rest === undefined) return false;
  return titleWords(rest).length === 0 && (titleWords(right).length > 0 || plain(left) === plain(right));
}

/** The words of a text that are left when these are taken out; undefined unless all of these are in it. */
function withoutWords(text: string, taken: string): string | undefined {
  const words = titleWords(text);
  for (const word of titleWords(taken)) {
    const place = words.indexOf(word);
    if (place < 0) return undefined;
    words.splice(place, 1);
  }
  return words.join(' ');
}

function sameAddress(left: string, right: string): boolean {
  const [one, other] = [parseUrl(left), parseUrl(right)];
  return one !== undefined && other !== undefined && one.host === other.host && one.pathname === other.pathname;
}

/** The variant that an address of Shopify's names. */
function variantIn(url: string | undefined): string | undefined {
  return (url === undefined ? undefined : parseUrl(url)?.searchParams.get('variant')) ?? undefined;
}

/** Shopify's global ids end with the number that its addresses use. */
function lastPart(id: string): string {
  return id.slice(id.lastIndexOf('/') + 1);
}
