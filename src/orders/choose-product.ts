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
    const own = product.variants.filter((variant) => isSequence(titleWords(variant.title), titleWords(title)));
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
 * By its id or its title, by the same words in the same order, or by choices that only one variant has. The order counts, because 32 / 34
 * is not 34 / 32. Where the shop has not named all of its variants, one of the others may fit as well, so all choices have to be named.
 */
function variantsOf(product: Product, asked: string): readonly Variant[] {
  const { variants, moreVariants } = product;
  const named = variants.filter(({ id, title }) => id === asked || plain(title) === plain(asked));
  if (named.length > 0) return named;
  const words = titleWords(asked);
  const inWords = variants.filter(
    ({ title, options }) =>
      isSequence(words, titleWords(title)) ||
      isSequence(words, titleWords(options.map(({ value }) => value).join(' '))),
  );
  if (inWords.length > 0 || moreVariants) return inWords;
  const shared = sharedValues(variants);
  return variants.filter(({ options }) => isMadeOf(words, options, shared));
}

/** Values of more than one option, such as the 32 of waist and length. Alone they do not say which of them is meant. */
function sharedValues(variants: readonly Variant[]): ReadonlySet<string> {
  const optionOf = new Map<string, string>();
  const shared = new Set<string>();
  for (const { name, value } of variants.flatMap(({ options }) => options)) {
    const key = titleWords(value).join(' ');
    if ((optionOf.get(key) ?? name) !== name) shared.add(key);
    optionOf.set(key, name);
  }
  return shared;
}

/** Whether the words are nothing but whole choices of this variant: "Red" is not "Dark Red". Each may have its name before it. */
function isMadeOf(words: readonly string[], options: Variant['options'], shared: ReadonlySet<string>): boolean {
  const left = [...options];
  let at = 0;
  while (at < words.length) {
    const rest = words.slice(at);
    const place = left.findIndex((option) => lengthOf(option, rest, shared) > 0);
    const option = left[place];
    if (option === undefined) return false;
    at += lengthOf(option, rest, shared);
    left.splice(place, 1);
  }
  return words.length > 0;
}

/** How many of these words name the choice; 0 if the first ones do not. */
function lengthOf({ name, value }: Variant['options'][number], words: readonly string[], shared: ReadonlySet<string>) {
  const [title, choice] = [titleWords(name), titleWords(value)];
  const whole = [...title, ...choice];
  if (choice.length === 0) return 0;
  if (isSequence(words.slice(0, whole.length), whole)) return whole.length;
  const isAlone = isSequence(words.slice(0, choice.length), choice) && !shared.has(choice.join(' '));
  return isAlone ? choice.length : 0;
}

function isSequence(left: readonly string[], right: readonly string[]): boolean {
  return left.length > 0 && left.length === right.length && left.every((word, index) => word === right[index]);
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
 * names keep the signs that make them: C++ is not C#, and +1.50 is not -1.50.
 */
function titleWords(text: string): string[] {
  const bare = text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/['‘’ʼ`´]/g, '')
    .replace(/−/g, '-');
  return (
    bare.match(/(?:(?<![\p{L}\p{N}])[+-])?\p{N}+(?:[.,:/⁄×x-]\p{N}+)*[\p{L}%°″"+#]*|\p{L}[\p{L}\p{N}]*[+#]*/gu) ?? []
  );
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
