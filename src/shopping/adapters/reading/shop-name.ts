import { cleanBrand } from '../../search/reading/clean-candidate.ts';
import { textOf } from '../fields.ts';
import { hasType, walkJsonLd } from './json-ld/walk.ts';
import type { Page } from './read-page.ts';

/** What stands where a brand should and there is none: the name of the shop, as its front page has it. */
export function shopName(page: Page): string | undefined {
  const named = walkJsonLd(page.jsonLd).filter((node) =>
    hasType(node, ['WebSite', 'Organization', 'OnlineStore', 'Store']),
  );
  // A title is "Shop – the best mugs in town" more often than not.
  return cleanBrand(
    page.siteName ??
      named.map(({ name }) => textOf(name)).find((name) => name !== undefined) ??
      page.title?.split(/\s[|–—·-]\s/)[0],
  );
}
