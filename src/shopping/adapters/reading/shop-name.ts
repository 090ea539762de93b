import { cleanBrand } from '../../search/reading/clean-candidate.ts';
import { textOf } from '../fields.ts';
import { hasType, walkJsonLd } from './json-ld/walk.ts';
import type { Page } from './read-page.ts';

/** The shop's name from its front page, for products without a brand. */
export function shopName(page: Page): string | undefined {
  const named = walkJsonLd(page.jsonLd).filter((node) =>
    hasType(node, ['WebSite', 'Organization', 'OnlineStore', 'Store']),
  );
  // Titles often look like "Shop – the best mugs in town".
  return cleanBrand(
    page.siteName ??
      named.map(({ name }) => textOf(name)).find((name) => name !== undefined) ??
      page.title?.split(/\s[|–—·-]\s/)[0],
  );
}
