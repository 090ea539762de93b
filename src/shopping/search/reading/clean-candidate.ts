import type { Candidate, Variant } from '../product.ts';
import { cleanText } from './clean-text.ts';

const longestTitle = 200;
const longestBrand = 80;
const longestId = 200;
const longestLink = 2_000;
const longestOption = 80;
const mostOptions = 6;
const mostVariants = 100;
/** One more than is kept, to detect products with more variants. */
export const variantsToRead = mostVariants + 1;
/** Fewer are shown; the shop's best matches come first. */
const mostCandidates = 100;

/** Cleans and shortens all texts before the candidates leave the parser process. Drops unusable candidates. */
export function cleanCandidates(candidates: Iterable<Candidate>): Candidate[] {
  const cleaned: Candidate[] = [];
  for (const candidate of candidates) {
    const clean = cleanCandidate(candidate);
    if (clean !== undefined && cleaned.push(clean) === mostCandidates) break;
  }
  return cleaned;
}

/** Undefined if the title or the price is missing. */
function cleanCandidate({ title, brand, price, url, picture, id, available, ...product }: Candidate) {
  const titleText = cleanText(title, longestTitle);
  const priceText = cleanText(price?.text, longestBrand);
  if (titleText === undefined || price === undefined || priceText === undefined) return undefined;
  if (url !== undefined && url.length > longestLink) return undefined;
  return {
    title: titleText,
    brand: cleanBrand(brand),
    price: { ...price, text: priceText },
    url,
    picture:
      picture === undefined || picture.url.length > longestLink
        ? undefined
        : { url: picture.url, alt: cleanText(picture.alt, longestTitle) },
    id: cleanId(id),
    available,
    ...cleanVariants(product),
  };
}

function cleanVariants({ variants = [], moreVariants = false }: Pick<Candidate, 'variants' | 'moreVariants'>) {
  const cleaned = variants.slice(0, mostVariants).flatMap(cleanVariant);
  // A variant without a usable id cannot be ordered, but the product does come in that form.
  return { variants: cleaned, moreVariants: moreVariants || cleaned.length < variants.length };
}

function cleanVariant({ id, title, options, price, available }: Variant): Variant[] {
  // Dropping some options would make the variant look like another one.
  if (options.length > mostOptions) return [];
  const choices = options.flatMap((option) => {
    const [name, value] = [cleanText(option.name, longestOption), cleanText(option.value, longestOption)];
    return name === undefined || value === undefined ? [] : [{ name, value }];
  });
  const titles = [title, choices.map(({ value }) => value).join(' / '), id];
  const [titleText] = titles.flatMap((text) => cleanText(text, longestTitle) ?? []);
  const priceText = cleanText(price.text, longestBrand);
  if (cleanId(id) === undefined || titleText === undefined || priceText === undefined) return [];
  return [{ id, title: titleText, options: choices, price: { ...price, text: priceText }, available }];
}

/** A changed id would name another product. */
function cleanId(id: string | undefined): string | undefined {
  return cleanText(id, longestId) === id ? id : undefined;
}

export function cleanBrand(brand: string | undefined): string | undefined {
  return cleanText(brand, longestBrand);
}
