import type { Outgoing } from '../../kernel/outgoing/outgoing.ts';
import { parseUrl } from '../../kernel/text/parse-url.ts';
import type { Candidate, Product } from './product.ts';

const longestLink = 2_000;

/** Query parameters that only say how somebody came to a page. */
const tracking = /^(?:utm_\w+|_pos|_psq|_ss|_sid|_v|_fid|_ga|_gl|fbclid|gclid|srsltid|mc_[ce]id|ref)$/;

export interface LinkingParts {
  readonly outgoing: Pick<Outgoing, 'explainRefusal'>;
  /** What links are relative to. */
  readonly origin: string;
  /** For products without a brand, and without a name of the shop. */
  readonly siteName: string;
}

/** The last step from what a stranger says to what may be shown: its texts are clean by now. Undefined when its link leads nowhere. */
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

/** A link that leads out to the web and nowhere else: the guard itself would open it. */
function cleanLink(text: string, { outgoing, origin }: Pick<LinkingParts, 'outgoing' | 'origin'>): string | undefined {
  const url = parseUrl(text, origin);
  if (url === undefined || (url.protocol !== 'https:' && url.protocol !== 'http:')) return undefined;
  if (url.username !== '' || url.password !== '') return undefined;
  if (url.protocol === 'http:' && outgoing.explainRefusal(url.href) !== undefined) url.protocol = 'https:';
  for (const name of [...url.searchParams.keys()]) if (tracking.test(name)) url.searchParams.delete(name);
  url.hash = '';
  // Percent-encoding can make a link nine times as long.
  if (url.href.length > longestLink) return undefined;
  return outgoing.explainRefusal(url.href) === undefined ? url.href : undefined;
}
