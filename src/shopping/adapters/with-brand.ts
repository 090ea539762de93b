import type { MerchantSite } from '../search/merchant-site.ts';
import type { Candidate } from '../search/product.ts';
import { frontPage } from './front-page.ts';

/** Fills in the shop's name as the brand. */
export async function* withBrand(site: MerchantSite, query: string, candidate: Candidate): AsyncGenerator<Candidate> {
  if (candidate.brand !== undefined) yield candidate;
  else {
    const page = await frontPage(site, query).catch(() => undefined);
    yield { ...candidate, brand: page?.shopName };
  }
}
