import type { Outgoing } from '../../kernel/outgoing/outgoing.ts';
import { parseUrl } from '../../kernel/text/parse-url.ts';
import type { Candidate, Product } from './product.ts';

const longestLink = 2_000;

/** Tracking parameters. */
const tracking = /^(?:utm_\w+|_pos|_psq|_ss|_sid|_v|_fid|_ga|_gl|fbclid|gclid|srsltid|mc_[ce]id|ref)$/;

export interface LinkingParts {
  readonly outgoing: Pick<Outgoing, 'explainRefusal'>;
  /** The base of relative links. */
  readonly origin: string;
  /** The brand of products without one. */
  readonly siteName: string;
}

/** Checks the links of a candidate whose texts are already clean. Undefined if its link may not be shown. */
export function toProduct(candidate: Candidate, { outgoing, origin, siteName }: LinkingParts): Product | undefined {
  const { title, price, picture } = candidate;
  const url = candidate.url === undefined ? `${origin}/` : cleanLink(candidate.url, { outgoing, origin });
  if (price === undefined || url === undefined) return undefined;
  const pictureUrl = picture && cleanLink(picture.url, { outgoing, origin });
  return {
    title,
    brand: candidate.brand ?? siteName,
    price,
    url,
    picture: pictureUrl === undefined ? undefined : { url: pictureUrl, alt: picture?.alt ?? title },
    id: candidate.id,
    variants: candidate.variants ?? [],
    moreVariants: candidate.moreVariants ?? false,
    available: candidate.available,
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
