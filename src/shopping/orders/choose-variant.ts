import { parseUrl } from '../../kernel/text/parse-url.ts';
import { describeVariant, needsChoice, type Product, type Variant } from '../search/product.ts';
import { orderErrors } from './errors.ts';
import { isSequence, plain, titleWords } from './title-words.ts';

export interface WantedVariant {
  readonly url: string | undefined;
  /** The id or the title of a variant. */
  readonly variant: string | undefined;
}

/**
 * Chooses the variant; undefined if the checkout takes the product's own id. The title, productVariant and productUrl may each
 * name a variant and must agree. `titled` are the variants that the title matches, if it names one.
 */
export function chooseVariant(
  product: Product,
  titled: readonly Variant[] | undefined,
  wanted: WantedVariant,
): Variant | undefined {
  const inUrl = variantIn(wanted.url, product.url);
  const readings = [
    titled,
    wanted.variant === undefined ? undefined : variantsOf(product, wanted.variant),
    inUrl === undefined ? undefined : product.variants.filter(({ id }) => lastPart(id) === inUrl),
  ].filter((reading) => reading !== undefined);
  if (readings.length === 0 && !needsChoice(product)) return product.variants[0];
  if (product.variants.length === 0 && wanted.variant === product.id && !product.moreVariants) return undefined;
  const fitting =
    readings.length === 0 ? [] : product.variants.filter((variant) => readings.every((each) => each.includes(variant)));
  const [variant] = fitting;
  if (variant !== undefined && fitting.length === 1) return variant;
  throw needsChoice(product)
    ? ambiguous(product, { fitting, asked: wanted.variant })
    : orderErrors.product_not_found(
        `"${product.title}" has no variants. Omit productVariant, and ?variant= in productUrl. Nothing was charged.`,
        { members: { variants: product.variants.map(describeVariant) } },
      );
}

/**
 * Matches an id, a title, the same words in the same order, or a set of option values. The order counts, because 32 / 34 is not
 * 34 / 32. An option with a single value may be omitted. If the shop has not listed all variants, an unlisted one could match as
 * well, so only an id or a complete title counts.
 */
export function variantsOf({ variants, moreVariants }: Product, asked: string): readonly Variant[] {
  const text = plain(asked);
  const named = variants.filter(({ id, title }) => id === asked || plain(title) === text);
  if (named.length > 0) return named;
  const words = titleWords(asked);
  const inWords = variants.filter(
    ({ title, options }) =>
      isSequence(words, titleWords(title)) ||
      isSequence(words, titleWords(options.map(({ value }) => value).join(' '))),
  );
  if (inWords.length > 0 || moreVariants) return inWords;
  const choices = choicesOf(variants);
  return variants.filter(({ options }) => isMadeOf(words, options, choices));
}

interface Choices {
  /** Values that occur in several options, such as 32 for waist and length. Alone they are ambiguous. */
  readonly shared: ReadonlySet<string>;
  /** Options with a single value. */
  readonly settled: ReadonlySet<string>;
}

function choicesOf(variants: readonly Variant[]): Choices {
  const valuesOf = new Map<string, Set<string>>();
  for (const { name, value } of variants.flatMap(({ options }) => options)) {
    valuesOf.set(name, (valuesOf.get(name) ?? new Set()).add(titleWords(value).join(' ')));
  }
  const all = [...valuesOf.values()].flatMap((values) => [...values]);
  return {
    shared: new Set(all.filter((value, index) => all.indexOf(value) !== index)),
    settled: new Set([...valuesOf].filter(([, values]) => values.size === 1).map(([name]) => name)),
  };
}

/** Whether the words are complete option values and cover every option that has a choice: "Red" is not "Dark Red". */
function isMadeOf(words: readonly string[], options: Variant['options'], { shared, settled }: Choices): boolean {
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
  return words.length > 0 && left.every(({ name }) => settled.has(name));
}

/** How many leading words name this option value, with or without the option's name; 0 if they do not. */
function lengthOf({ name, value }: Variant['options'][number], words: readonly string[], shared: ReadonlySet<string>) {
  const choice = titleWords(value);
  const whole = [...titleWords(name), ...choice];
  if (isSequence(words.slice(0, whole.length), whole)) return whole.length;
  const isAlone = isSequence(words.slice(0, choice.length), choice) && !shared.has(choice.join(' '));
  return isAlone ? choice.length : 0;
}

function ambiguous(
  { variants, moreVariants, title, url }: Product,
  { fitting, asked }: { readonly fitting: readonly Variant[]; readonly asked: string | undefined },
) {
  const listed = (fitting.length > 0 ? fitting : variants).map(describeVariant);
  const members = { variants: listed, ...(moreVariants && { moreVariants }), productUrl: url };
  if (variants.length === 0) {
    const detail = `The shop does not list the variants of "${title}", so it cannot be ordered here. Nothing was charged. Buy it on the shop’s website.`;
    return orderErrors.product_ambiguous(detail, { members });
  }
  const why =
    asked === undefined
      ? `The shop sells "${title}" in several variants.`
      : fitting.length === 0
        ? `"${asked}" matches no variant of "${title}".`
        : `"${asked}" matches several variants of "${title}".`;
  const todo = '`variants` lists them with their prices: send the id or title of one as productVariant.';
  return orderErrors.product_ambiguous(`${why} ${todo} Nothing was charged.`, { members });
}

/**
 * The variant in a Shopify URL. It is ignored if the product's own URL names the same one, because that is just the variant that
 * the shop shows in lists.
 */
function variantIn(asked: string | undefined, own: string): string | undefined {
  const variantOf = (url: string) => parseUrl(url)?.searchParams.get('variant') ?? undefined;
  const named = asked === undefined ? undefined : variantOf(asked);
  return named === variantOf(own) ? undefined : named;
}

/** Shopify's global ids end with the number that its URLs use. */
function lastPart(id: string): string {
  return id.slice(id.lastIndexOf('/') + 1);
}
