import type { Candidate } from '../product.ts';
import { cleanText } from './clean-text.ts';

const longestTitle = 200;
const longestBrand = 80;
const longestId = 200;
const longestLink = 2_000;
/** Of one answer. Fewer are shown, and what comes first is the best in the shop's eyes. */
const mostCandidates = 100;

/** What is left of them once their texts are clean and short, as they may leave the parser. */
export function cleanCandidates(candidates: Iterable<Candidate>): Candidate[] {
  const cleaned: Candidate[] = [];
  for (const candidate of candidates) {
    const clean = cleanCandidate(candidate);
    if (clean !== undefined && cleaned.push(clean) === mostCandidates) break;
  }
  return cleaned;
}

/** Undefined when there is too little left of it. */
function cleanCandidate({ title, brand, price, url, picture, id, variantId, available }: Candidate) {
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
    id: cleanText(id, longestId),
    variantId: cleanText(variantId, longestId),
    available,
  };
}

export function cleanBrand(brand: string | undefined): string | undefined {
  return cleanText(brand, longestBrand);
}
