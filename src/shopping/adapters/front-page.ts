import type { MerchantPlatform } from '../search/merchant-platform.ts';
import type { MerchantSite } from '../search/merchant-site.ts';
import { notOffered } from '../search/merchant-trouble.ts';
import { type FrontPage, readFrontPage } from './tasks.ts';

export interface FoundFrontPage extends FrontPage {
  readonly url: string;
}

/** Each search fetches the front page at most once, whichever platform needs it first. */
const read = new WeakMap<MerchantSite, Promise<FoundFrontPage>>();

export function frontPage(site: MerchantSite, query: string): Promise<FoundFrontPage> {
  const known = read.get(site);
  if (known !== undefined) return known;
  const reading = fetchFrontPage(site, query);
  read.set(site, reading);
  // Each platform awaits the promise itself; this only prevents an unhandled rejection.
  reading.catch(() => {});
  return reading;
}

async function fetchFrontPage(site: MerchantSite, query: string): Promise<FoundFrontPage> {
  const answer = await site.get(`${site.origin}/`, { cut: true });
  if (answer.status >= 400) throw notOffered('a front page');
  const { url } = answer;
  const page = await answer.read(readFrontPage, { url, site: { origin: site.origin, name: site.name }, query });
  // The Link header can name the WordPress API.
  const header = String(answer.headers['link'] ?? '').slice(0, 2_000);
  const named = /<([^<>]{1,500})>;\s*rel="?https:\/\/api\.w\.org\/"?/.exec(header)?.[1];
  return { ...page, url, wordPressApi: named ?? page.wordPressApi };
}

/** Fills in the shop's name as the brand of products without one. */
export function withBrand(platform: MerchantPlatform): MerchantPlatform {
  return {
    ...platform,
    async *search(site, query) {
      for await (const candidate of platform.search(site, query)) {
        const brand = candidate.brand ?? (await frontPage(site, query).catch(() => undefined))?.shopName;
        yield { ...candidate, brand };
      }
    },
  };
}
