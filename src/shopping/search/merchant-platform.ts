import type { MerchantSite } from './merchant-site.ts';
import type { Candidate } from './product.ts';

/** One way in which sites let their products be searched. The adapters are in shopping/adapters/. */
export interface MerchantPlatform {
  readonly name: string;
  /**
   * Gives products as they are found, the best first as far as the site knows. Ending without any means that the site is
   * of this kind and has found nothing; a site of another kind is a MerchantTrouble.
   */
  search(site: MerchantSite, query: string): AsyncIterable<Candidate>;
  /** Whether its terms forbid that answers are kept, however briefly. */
  readonly keepsNothing?: true;
}
