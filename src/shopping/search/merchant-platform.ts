import type { MerchantSite } from './merchant-site.ts';
import type { Candidate } from './product.ts';

/** One way to search a shop's products. The adapters are in shopping/adapters/. */
export interface MerchantPlatform {
  readonly name: string;
  /**
   * Yields products as they are found, in the shop's own order. Ending without a product means that the platform matches and the
   * search found nothing. If the site is not of this platform, it throws a MerchantTrouble.
   */
  search(site: MerchantSite, query: string): AsyncIterable<Candidate>;
  /** Set if the platform's terms forbid caching results. */
  readonly keepsNothing?: true;
}
