import type { MerchantSite } from '../../shopping/merchant-site.ts';
import type { Candidate } from '../../shopping/product.ts';
import { textOf } from './fields.ts';
import { homePage } from './home-page.ts';
import { hasType, walkJsonLd } from './json-ld/walk.ts';

/** What stands where a brand should and there is none: the name of the shop, as its front page has it. */
export async function* withBrand(site: MerchantSite, candidate: Candidate): AsyncGenerator<Candidate> {
  yield candidate.brand === undefined ? { ...candidate, brand: await shopName(site) } : candidate;
}

async function shopName(site: MerchantSite): Promise<string | undefined> {
  const page = await homePage(site).catch(() => undefined);
  if (page === undefined) return undefined;
  const named = walkJsonLd(page.jsonLd).filter((node) =>
    hasType(node, ['WebSite', 'Organization', 'OnlineStore', 'Store']),
  );
  // A title is "Shop – the best mugs in town" more often than not.
  return (
    page.siteName ??
    named.map(({ name }) => textOf(name)).find((name) => name !== undefined) ??
    page.title?.split(/\s[|–—·-]\s/)[0]
  );
}
