import type { Outgoing } from '../outgoing/outgoing.ts';
import { parseUrl } from '../parse-url.ts';
import { cleanText } from './clean-text.ts';
import type { Candidate, Product } from './product.ts';

const longestTitle = 200;
const longestBrand = 80;
const longestId = 200;
const longestLink = 2_000;

/** Query parameters that only say how somebody came to a page. */
const tracking = /^(?:utm_\w+|_pos|_psq|_ss|_sid|_v|_fid|_ga|_gl|fbclid|gclid|srsltid|mc_[ce]id|ref)$/;

export interface CleaningParts {
  readonly outgoing: Pick<Outgoing, 'explainRefusal'>;
  /** What links are relative to. */
  readonly origin: string;
  /** For products without a brand, and without a name of the shop. */
  readonly siteName: string;
}

/** The one way from what a stranger says to what may be shown. Undefined when there is too little left of it. */
export function toProduct(candidate: Candidate, { outgoing, origin, siteName }: CleaningParts): Product | undefined {
  const title = cleanText(candidate.title, longestTitle);
  const { price } = candidate;
  const priceText = cleanText(price?.text, longestBrand);
  const url = candidate.url === undefined ? `${origin}/` : cleanLink(candidate.url, { outgoing, origin });
  if (title === undefined || price === undefined || priceText === undefined || url === undefined) return undefined;
  const pictureUrl = candidate.picture && cleanLink(candidate.picture.url, { outgoing, origin });
  return {
    title,
    brand: cleanText(candidate.brand, longestBrand) ?? siteName,
    price: { ...price, text: priceText },
    url,
    picture:
      pictureUrl === undefined
        ? undefined
        : { url: pictureUrl, alt: cleanText(candidate.picture?.alt, longestTitle) ?? title },
    id: cleanText(candidate.id, longestId),
    variantId: cleanText(candidate.variantId, longestId),
    available: candidate.available,
  };
}

/** A link that leads out to the web and nowhere else: the guard itself would open it. */
function cleanLink(
  text: unknown,
  { outgoing, origin }: Pick<CleaningParts, 'outgoing' | 'origin'>,
): string | undefined {
  if (typeof text !== 'string' || text.length > longestLink || parseUrl(text, origin) === undefined) return undefined;
  const url = new URL(text, origin);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return undefined;
  if (url.username !== '' || url.password !== '') return undefined;
  if (url.protocol === 'http:' && outgoing.explainRefusal(url.href) !== undefined) url.protocol = 'https:';
  for (const name of [...url.searchParams.keys()]) if (tracking.test(name)) url.searchParams.delete(name);
  url.hash = '';
  // Percent-encoding can make a link nine times as long.
  if (url.href.length > longestLink) return undefined;
  return outgoing.explainRefusal(url.href) === undefined ? url.href : undefined;
}
